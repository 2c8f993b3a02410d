-- What a reader of a memory must know of the text that it was made from, such as that it hid characters; and the outputs
-- of the side of a dispute that was promoted, so that what speaks for the other side is no source of the memory.

ALTER TABLE promotions ADD COLUMN flags text[] NOT NULL DEFAULT '{}';
ALTER TABLE memories ADD COLUMN flags text[] NOT NULL DEFAULT '{}';
ALTER TABLE decisions ADD COLUMN side_sources uuid[];
