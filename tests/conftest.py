"""Settings shared by all tests."""

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile("martfl", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)
settings.load_profile("martfl")


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """The real datasets; tests that ask for it skip where they are missing."""
    folder = os.environ.get("MARTFL_DATA")
    if not folder or not Path(folder).is_dir():
        pytest.skip("MARTFL_DATA does not name a folder of datasets")
    return Path(folder)
