-- Which digest showed an output follows from the sources of its insights; nothing reads the copy of it in the marks.
ALTER TABLE digest_marks DROP COLUMN shown_in;
