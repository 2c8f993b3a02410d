-- How often the admission of a row failed by itself. After some attempts the row is refused with the reason.
ALTER TABLE admissions ADD COLUMN failures integer NOT NULL DEFAULT 0;
GRANT UPDATE (failures) ON admissions TO clearwell_worker;
