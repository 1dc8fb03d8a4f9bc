"""The public names for type checkers; `__init__.py` imports each on first use."""

from rejoinder.cascade.loading import load as load
from rejoinder.engine.engine import Engine as Engine
from rejoinder.engine.engine import open as open
from rejoinder.engine.engine import open_files as open_files
from rejoinder.errors import BundleError as BundleError
from rejoinder.errors import DataError as DataError
from rejoinder.errors import DownloadError as DownloadError
from rejoinder.errors import InputError as InputError
from rejoinder.errors import MissingDataError as MissingDataError
from rejoinder.errors import MissingExtraError as MissingExtraError
from rejoinder.errors import RejoinderError as RejoinderError
from rejoinder.errors import StoreError as StoreError
from rejoinder.errors import TrainingError as TrainingError
from rejoinder.errors import UnknownNameError as UnknownNameError
from rejoinder.evaluation import CalibrateOptions as CalibrateOptions
from rejoinder.evaluation import TuneOptions as TuneOptions
from rejoinder.evaluation import calibrate as calibrate
from rejoinder.evaluation import compare as compare
from rejoinder.evaluation import evaluate as evaluate
from rejoinder.evaluation import tune as tune
from rejoinder.index.index import Index as Index
from rejoinder.models.ranking import rank as rank
from rejoinder.models.scorer import Scorer as Scorer
from rejoinder.training import average_selectors as average_selectors
from rejoinder.training import distil as distil
from rejoinder.training import mine_lists as mine_lists
from rejoinder.training import train_has as train_has
from rejoinder.training import train_ranker as train_ranker
from rejoinder.training import train_selector as train_selector
from rejoinder.training import train_static_encoder as train_static_encoder
from rejoinder.training.options import DistilOptions as DistilOptions
from rejoinder.training.options import HasOptions as HasOptions
from rejoinder.training.options import MiningOptions as MiningOptions
from rejoinder.training.options import RankerOptions as RankerOptions
from rejoinder.training.options import SelectorOptions as SelectorOptions
from rejoinder.training.options import StaticEncoderOptions as StaticEncoderOptions
from rejoinder.training.options import Trained as Trained
from rejoinder.types import Answer as Answer
from rejoinder.types import Answers as Answers
from rejoinder.types import Candidate as Candidate
from rejoinder.types import ContextBlock as ContextBlock
from rejoinder.types import Document as Document
from rejoinder.types import Example as Example
from rejoinder.types import Mark as Mark
from rejoinder.types import Ranking as Ranking
from rejoinder.types import RetrievalScores as RetrievalScores
from rejoinder.types import ScoredCandidate as ScoredCandidate
from rejoinder.types import Source as Source
from rejoinder.types import StageTrace as StageTrace
from rejoinder.types import WordMatch as WordMatch

__version__: str
__all__: list[str]
