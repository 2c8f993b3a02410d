"""Embedding models, chat models, the judge, the assessor of evidence, the writer of insights and the segmenter.

They implement ``clearwell.ports``.

Embedders: ``offline`` is the bundled model and ``openai`` any compatible API; ``calibration`` maps their cosines to
0..1, and ``vectors`` prepares their input and output. Chat: ``chat`` asks a compatible API within a budget,
``dialect`` adapts requests to what a server accepts, ``json_api`` sends them, and ``usage`` reads the tokens that it
reports. On top of a chat model, ``judge`` checks an output, ``assessor`` compares a claim with evidence, ``writer``
writes an insight, and ``segmenter`` finds the statements in an output; ``quotation`` shows text to a model as data,
``answers`` reads what the model answered, and ``prompts`` holds the prompt files.
"""

from clearwell.models.assessor import LLMAssessor
from clearwell.models.calibration import Calibration
from clearwell.models.chat import OpenAIChat
from clearwell.models.judge import LLMJudge
from clearwell.models.offline import MODEL as OFFLINE_MODEL
from clearwell.models.offline import OfflineEmbedder
from clearwell.models.openai import OpenAIEmbedder
from clearwell.models.segmenter import LLMSegmenter
from clearwell.models.writer import LLMWriter

__all__ = [
    "OFFLINE_MODEL",
    "Calibration",
    "LLMAssessor",
    "LLMJudge",
    "LLMSegmenter",
    "LLMWriter",
    "OfflineEmbedder",
    "OpenAIChat",
    "OpenAIEmbedder",
]
