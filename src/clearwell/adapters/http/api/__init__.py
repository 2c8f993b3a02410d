"""The routes of the API, a module for each noun: what a request may say, and what answers it."""
