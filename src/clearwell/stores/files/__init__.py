"""Files in the data folder, outside of the database."""

from clearwell.stores.files.audit_heads import FILE_NAME, FileAuditHeads

__all__ = ["FILE_NAME", "FileAuditHeads"]
