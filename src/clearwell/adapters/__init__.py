"""The ways in. Each is a leaf: parse, call one method of the service, render."""
