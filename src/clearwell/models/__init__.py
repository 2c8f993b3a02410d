"""Embedding models. They know ports, records and errors, and nothing of the path."""

from clearwell.models.calibration import Calibration, Curve
from clearwell.models.offline import OfflineEmbedder
from clearwell.models.openai import OpenAIEmbedder

__all__ = ["Calibration", "Curve", "OfflineEmbedder", "OpenAIEmbedder"]
