import pytest
from click.testing import CliRunner

from rejoinder.cli import main


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--keys", "keys.txt"], "--keys needs --http"),
        (["--port", "9", "--open"], "--port and --open need --http"),
        (["--allow-host", "here", "--allow-origin", "http://there"], "need --http"),
    ],
)
def test_stdio_refuses_options_of_http(options: list[str], message: str) -> None:
    result = CliRunner().invoke(main, ["mcp", "no-index", *options])

    assert result.exit_code == 1
    assert message in result.output
    assert len(result.output.splitlines()) == 1


def test_a_key_file_in_the_environment_is_not_ignored_either() -> None:
    environment = {"REJOINDER_MCP_KEYS": "keys.txt"}

    result = CliRunner().invoke(main, ["mcp", "no-index"], env=environment)

    assert "--keys needs --http" in result.output
