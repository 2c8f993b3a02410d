"""The forms of the answers, for the OpenAPI document. Answers themselves are not validated again."""
