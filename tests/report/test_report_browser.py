"""The report opened in a browser from disk: no request, no complaint, nothing runs.

Needs chromium and chromedriver (packages `chromium` and `chromium-driver` of Debian); skipped where
they are missing.
"""

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import made_facts
import pytest

from jobs.report.page import render

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
NARROW = 320

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not (CHROMIUM and DRIVER), reason="no chromium with chromedriver here"),
]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    webdriver = pytest.importorskip("selenium.webdriver", reason="needs the package selenium")
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    arguments = ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                 "--host-resolver-rules=MAP * ~NOTFOUND", "--window-size=1280,900")  # fmt: skip
    for argument in arguments:
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    service = webdriver.chrome.service.Service(DRIVER)
    driver = webdriver.Chrome(options=options, service=service)
    driver.set_page_load_timeout(60)
    yield driver
    driver.quit()


def opened(browser: Any, folder: Path, make: Callable[[], Any]) -> str:
    page = folder / "report.html"
    page.write_text(render(make()))
    browser.get_log("performance")
    browser.get(page.as_uri())
    return page.as_uri()


@pytest.mark.parametrize("make", [made_facts.clean, made_facts.hostile, made_facts.large])
def test_one_request_no_complaint_and_nothing_runs(
    browser: Any, tmp_path: Path, make: Callable[[], Any]
) -> None:
    address = opened(browser, tmp_path, make)
    assert browser.get_log("browser") == []
    events = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    asked = [e["params"]["request"]["url"] for e in events
             if e["method"] == "Network.requestWillBeSent"]  # fmt: skip
    assert asked == [address]
    assert browser.execute_script("return document.scripts.length") == 0


def test_the_policy_stops_a_script_that_got_in_after_all(browser: Any, tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    bad = "<p id='bad'>still</p><script>document.getElementById('bad').textContent = 'ran'</script>"
    page.write_text(render(made_facts.clean()).replace("</main>", f"{bad}</main>"))
    browser.get(page.as_uri())
    assert browser.find_element("id", "bad").text == "still"
    assert "Content Security Policy" in str(browser.get_log("browser"))


def test_every_link_leads_to_a_part_of_the_page(browser: Any, tmp_path: Path) -> None:
    opened(browser, tmp_path, made_facts.hanging)
    links = browser.find_elements("css selector", "a")
    assert len(links) > 5
    for link in links:
        _, _, name = str(link.get_attribute("href")).partition("#")
        assert browser.find_elements("id", name), name


def test_a_narrow_window_needs_no_sideways_scrolling(browser: Any, tmp_path: Path) -> None:
    for make in (made_facts.hanging, made_facts.hostile):
        opened(browser, tmp_path, make)
        size = {"width": NARROW, "height": 700, "deviceScaleFactor": 1, "mobile": False}
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        try:
            width = browser.execute_script("return document.documentElement.scrollWidth")
        finally:
            browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
        assert width <= NARROW


def test_the_keyboard_reaches_links_details_and_wide_tables(browser: Any, tmp_path: Path) -> None:
    opened(browser, tmp_path, made_facts.hanging)
    keys = pytest.importorskip("selenium.webdriver.common.keys").Keys
    reached = set()
    for _ in range(60):
        browser.switch_to.active_element.send_keys(keys.TAB)
        focused = browser.switch_to.active_element
        reached.add(focused.tag_name)
        if focused.tag_name == "div":
            assert focused.get_attribute("aria-label")
    assert {"a", "summary", "div"} <= reached
