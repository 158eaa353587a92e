"""The page of a run in a browser: headless Chromium, driven by Selenium."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from lab.report import write_report
from synthetic_run import STUDIES, make_run

webdriver = pytest.importorskip("selenium.webdriver", reason="python3-selenium is not installed")

_OPTIONS = ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
            "--disable-background-networking", "--disable-component-update", "--disable-sync")
_PHONE, _DESK = 390, 1200


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[webdriver.Chrome]:
    programs = [shutil.which(name) for name in ("chromium", "chromedriver")]
    if None in programs:
        pytest.skip("chromium or chromium-driver is not installed")
    options = webdriver.ChromeOptions()
    options.binary_location = programs[0]
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    for option in (*_OPTIONS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(option)
    service = webdriver.chrome.service.Service(programs[1])
    driver = webdriver.Chrome(service=service, options=options)
    yield driver
    driver.quit()


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("page")
    path = folder / "report.html"
    write_report(make_run(folder / "synthetic"), STUDIES, path)
    return path


def show(browser: webdriver.Chrome, page: Path, width: int) -> None:
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
        "width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width == _PHONE})
    browser.get_log("performance")
    browser.get(page.as_uri())


@pytest.mark.parametrize("width", [_PHONE, _DESK])
def test_the_page_shows_without_an_error(browser: webdriver.Chrome, page: Path,
                                         width: int) -> None:
    show(browser, page, width)
    assert "synthetic" in browser.title
    assert browser.get_log("browser") == []


@pytest.mark.parametrize("width", [_PHONE, _DESK])
def test_the_page_is_not_wider_than_the_screen(browser: webdriver.Chrome, page: Path,
                                               width: int) -> None:
    show(browser, page, width)
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("width", [_PHONE, _DESK])
def test_every_picture_is_drawn_and_fits(browser: webdriver.Chrome, page: Path,
                                         width: int) -> None:
    show(browser, page, width)
    pictures = browser.execute_script(
        "return [...document.images].map(image => [image.complete, image.naturalWidth,"
        " image.naturalHeight, image.getBoundingClientRect().width])")
    assert len(pictures) > 10
    for is_complete, natural_width, natural_height, shown_width in pictures:
        assert is_complete and natural_width > 100 and natural_height > 100
        assert 100 < shown_width <= width


def test_nothing_is_asked_of_the_network(browser: webdriver.Chrome, page: Path) -> None:
    show(browser, page, _DESK)
    asked = [entry["message"] for entry in browser.get_log("performance")
             if "Network.requestWillBeSent" in entry["message"]]
    assert [message for message in asked if '"url":"file:' in message], "the page itself"
    assert not [message for message in asked if '"url":"http' in message]


def test_the_table_of_contents_leads_to_every_study(browser: webdriver.Chrome,
                                                    page: Path) -> None:
    show(browser, page, _DESK)
    targets = browser.execute_script(
        "return [...document.querySelectorAll('nav a')].map(link => "
        "document.querySelector(link.getAttribute('href')) !== null)")
    assert len(targets) >= len(STUDIES)
    assert all(targets)


def test_settings_open_when_asked_for(browser: webdriver.Chrome, page: Path) -> None:
    show(browser, page, _DESK)
    script = "return document.querySelector('details').open"
    assert browser.execute_script(script) is False
    browser.execute_script("document.querySelector('details > summary').click()")
    assert browser.execute_script(script) is True
