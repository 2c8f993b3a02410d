"""Embedding models, chat models and the judge. They know ports, records and errors, and nothing of the path."""

from clearwell.models.calibration import Calibration
from clearwell.models.chat import OpenAIChat
from clearwell.models.judge import LLMJudge
from clearwell.models.offline import MODEL as OFFLINE_MODEL
from clearwell.models.offline import OfflineEmbedder
from clearwell.models.openai import OpenAIEmbedder
from clearwell.models.writer import LLMWriter

__all__ = [
    "OFFLINE_MODEL",
    "Calibration",
    "LLMJudge",
    "LLMWriter",
    "OfflineEmbedder",
    "OpenAIChat",
    "OpenAIEmbedder",
]
