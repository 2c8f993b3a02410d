-- What found the statements of an output: the rules, or the language model of this name. Outputs that the model is still
-- to be asked about have the time of the next attempt; the problem is that of the last one.
ALTER TABLE segmentations ADD COLUMN segmenter text NOT NULL DEFAULT 'rules', ADD COLUMN problem text,
    ADD COLUMN attempts smallint NOT NULL DEFAULT 0, ADD COLUMN due_at timestamptz;
CREATE INDEX segmentations_due ON segmentations (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX segmentations_of_models ON segmentations (segmenter) WHERE segmenter <> 'rules';
GRANT UPDATE (segmenter, problem, attempts, due_at) ON segmentations TO clearwell_worker;
