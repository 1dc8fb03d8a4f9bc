import json

from click.testing import CliRunner

from rejoinder.cli import main
from rejoinder.runtime.catalogue import SCORERS, list_shipped


def test_every_scorer_is_listed() -> None:
    result = CliRunner().invoke(main, ["models", "list"])

    names = [line.split()[0] for line in result.stdout.splitlines()]
    assert names == ["scorer", *SCORERS, *list_shipped()]
    assert "selector" in names


def test_the_list_as_json() -> None:
    listed = json.loads(CliRunner().invoke(main, ["models", "list", "--json"]).stdout)

    assert {"name": "jaccard", "what": SCORERS["jaccard"].what, "reads_order": False} in listed
