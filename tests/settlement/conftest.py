"""One cache folder for all settlement tests of a worker, so that nothing touches the user's."""

import os

import pytest


@pytest.fixture(scope="session", autouse=True)
def settlement_cache(tmp_path_factory):
    """The folder that MARTFL_CACHE names during these tests."""
    folder = tmp_path_factory.mktemp("cache")
    before = os.environ.get("MARTFL_CACHE")
    os.environ["MARTFL_CACHE"] = str(folder)
    yield folder
    if before is None:
        del os.environ["MARTFL_CACHE"]
    else:
        os.environ["MARTFL_CACHE"] = before
