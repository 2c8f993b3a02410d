"""The routes, by what they are about. Each parses, calls one method of the memory manager, and renders."""
