"""Commands under `python -m spacy hpyp`."""

from .annotate import annotate
from .app import hpyp
from .calibrate import calibrate_cli
from .convert import convert_cli
from .convert_lm import convert_lm_cli
from .convert_ptb import convert_ptb_cli
from .errors import errors_cli
from .evaluate import evaluate
from .generate import generate_cli
from .head_outward import head_outward_cli
from .hold_out import hold_out_cli, keep_cli
from .learn import learn_cli
from .learning_curve import learning_curve_cli
from .ngram import ngram_cli
from .papers import papers_cli
from .parse import parse_cli
from .perplexity import perplexity
from .rank import rank_cli
from .report import report_cli
from .rerank import rerank_cli
from .select import select_cli
from .states import states_cli
from .surprisal import surprisal_cli

__all__ = [
    "annotate",
    "calibrate_cli",
    "convert_cli",
    "convert_lm_cli",
    "convert_ptb_cli",
    "errors_cli",
    "evaluate",
    "generate_cli",
    "head_outward_cli",
    "hold_out_cli",
    "hpyp",
    "keep_cli",
    "learn_cli",
    "learning_curve_cli",
    "ngram_cli",
    "papers_cli",
    "parse_cli",
    "perplexity",
    "rank_cli",
    "report_cli",
    "rerank_cli",
    "select_cli",
    "states_cli",
    "surprisal_cli",
]
