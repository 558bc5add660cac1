"""Every page and every action of `readpast serve` in a real browser: pages.py COMMAND FOLDER-FOR-SCREENSHOTS"""

import pathlib
import shutil
import sys
import urllib.parse

from selenium import webdriver
from selenium.common.exceptions import WebDriverException
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

from server import Server

SIZES = {"wide": (1280, 900), "phone": (390, 844)}
# The contrast that the guidelines for accessible pages ask for (WCAG 2, AA).
CONTRAST = 4.5

# Faults of a page for people who do not see it, use no mouse, or hold it in one hand; like the rules of axe-core.
ILLS = """
const ills = [];
const luminance = (color) => {
  const [r, g, b] = color.match(/[0-9.]+/g).map(Number).map((c) => { c /= 255; return c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4; });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
const behind = (element) => {
  for (let e = element; e; e = e.parentElement) {
    const color = getComputedStyle(e).backgroundColor;
    if (color !== "rgba(0, 0, 0, 0)") return color;
  }
  return "rgb(255, 255, 255)";
};
if (!document.documentElement.lang) ills.push("no language");
if (document.querySelectorAll("h1").length !== 1) ills.push("not one h1");
if (!document.title.includes("readpast")) ills.push("no title");
for (const landmark of ["header", "main", "footer", "nav[aria-label]"]) if (document.querySelectorAll(landmark).length < 1) ills.push("no landmark " + landmark);
const named = (selector) => [...document.querySelectorAll(selector)].map((e) => e.getAttribute("aria-label"));
for (const names of [named("nav"), named("[role=region]")]) if (names.includes(null) || new Set(names).size !== names.length) ills.push("landmarks of one name: " + names);
for (const element of document.querySelectorAll("[aria-describedby], [aria-labelledby], label[for]")) {
  const id = element.getAttribute("aria-describedby") || element.getAttribute("aria-labelledby") || element.getAttribute("for");
  if (!document.getElementById(id)) ills.push("nothing has the id " + id);
}
let level = 1;
for (const heading of document.querySelectorAll("h1, h2, h3")) {
  const next = Number(heading.tagName[1]);
  if (next > level + 1) ills.push("a level of headings is left out before " + heading.textContent);
  level = next;
}
for (const list of document.querySelectorAll("ul, ol")) for (const child of list.children) if (child.tagName !== "LI") ills.push("a list with " + child.tagName);
for (const list of document.querySelectorAll("dl")) for (const child of list.children) if (!["DIV", "DT", "DD"].includes(child.tagName)) ills.push("a dl with " + child.tagName);
for (const wide of document.querySelectorAll(".wide")) if (wide.tabIndex !== 0) ills.push("what scrolls cannot be reached by keyboard");
for (const link of document.querySelectorAll("a, button, summary")) {
  if (!link.textContent.trim() && !link.getAttribute("aria-label")) ills.push("a link or button without words");
  const inline = getComputedStyle(link).display === "inline";
  const box = link.getBoundingClientRect();
  if (!inline && box.height > 0 && box.top >= 0 && (box.height < 24 || box.width < 24)) ills.push(`${link.textContent}: a target of ${box.width} x ${box.height}`);
}
if (document.querySelectorAll("[tabindex]:not([tabindex='0']):not([tabindex='-1'])").length) ills.push("an order of its own for the keyboard");
for (const time of document.querySelectorAll("main time")) if (!time.title.endsWith(" UTC") || !time.dateTime) ills.push("a time without the exact one: " + time.textContent);
for (const table of document.querySelectorAll("table")) if (!table.caption) ills.push("a table without a caption");
for (const head of document.querySelectorAll("th")) if (!head.scope || !(head.textContent.trim() || head.querySelector("[aria-label]"))) ills.push("a head without a scope or words: " + head.textContent);
for (const input of document.querySelectorAll("input:not([type=hidden]), select")) if (input.labels.length === 0 && !input.getAttribute("aria-label")) ills.push("an input without a label: " + input.name);
for (const svg of document.querySelectorAll("svg")) if (!svg.getAttribute("aria-label")) ills.push("a picture without words");
const ids = [...document.querySelectorAll("[id]")].map((e) => e.id);
if (new Set(ids).size !== ids.length) ills.push("an id twice");
for (const element of document.querySelectorAll("p, a, b, td, th, dt, dd, caption, small, time, pre, code, summary, button, label, legend, li, h1, h2, .badge, .state, .other")) {
  if (!element.textContent.trim() || element.offsetParent === null) continue;
  const [one, other] = [luminance(getComputedStyle(element).color), luminance(behind(element))].sort((a, b) => b - a);
  const contrast = (one + 0.05) / (other + 0.05);
  if (contrast < arguments[0]) ills.push(`${element.tagName} ${element.className}: contrast ${contrast.toFixed(2)}`);
}
if (document.documentElement.scrollWidth > innerWidth) ills.push(`wider than the window: ${document.documentElement.scrollWidth} of ${innerWidth}`);
if (window.pwned) ills.push("a script of an item was run");
return ills;
"""


class Browser:
    def __init__(self, server: Server, folder: pathlib.Path):
        options = webdriver.ChromeOptions()
        # Containers have no sandbox for a root user, and little shared memory.
        for argument in ["--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"]:
            options.add_argument(argument)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        options.binary_location = shutil.which("chromium") or ""
        self.driver = webdriver.Chrome(options, webdriver.ChromeService(shutil.which("chromedriver")))
        self.driver.set_script_timeout(600)
        self.server, self.folder = server, folder

    def look(self, scheme: str, size: str) -> None:
        media = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
        width, height = SIZES[size]
        screen = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": size == "phone"}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)

    def open(self, path: str) -> None:
        self.driver.get(self.server.url + path)

    def find(self, selector: str):
        return self.driver.find_element(By.CSS_SELECTOR, selector)

    def text(self) -> str:
        return self.find("body").text

    def wait(self, what: str, condition) -> None:
        # The page may put new figures in the place of what is just being read, or another page come in its place: the driver
        # has many words for that.
        patient = WebDriverWait(self.driver, 600, 0.1, ignored_exceptions=[WebDriverException])
        patient.until(lambda _: condition(), what)

    def judge(self, where: str) -> None:
        self.wait("it is all there", lambda: self.driver.execute_script("return document.readyState") == "complete")
        ills = self.driver.execute_script(ILLS, CONTRAST)
        assert not ills, f"{where}: {ills}"
        said = [entry["message"] for entry in self.driver.get_log("browser")]
        assert not said, f"{where}: the console says {said}"

    def unfold(self, whether: bool) -> None:
        script = "for (const e of document.querySelectorAll('details')) e.open = arguments[0]"
        self.driver.execute_script(script, whether)

    def forget(self, status: int | None) -> None:
        """The browser logs a page that is not there as an error of its own."""
        if status is not None:
            said = [entry["message"] for entry in self.driver.get_log("browser")]
            assert all(str(status) in message for message in said), said

    def keep(self, name: str) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        assert self.driver.save_screenshot(str(self.folder / f"{name}.png"))


def every_page(browser: Browser) -> None:
    failed = urllib.parse.quote(browser.server.key("Failed"))
    waiting = urllib.parse.quote(browser.server.key("Pending"))
    pages = {
        "overview": ("/", "The last 24 hours"),
        "queues": ("/queues", "All queues"),
        "queue": ("/queue/Mail", "550 no such mailbox"),
        "items": ("/queue/Mail/items?status=Failed", "4 items"),
        "item": (f"/queue/Mail/item?key={failed}", "unless it is redriven"),
        "act": ("/queue/Mail/act?verb=redrive", "This changes 4 items"),
        "edit": (f"/queue/Mail/edit?key={waiting}", "Change the item"),
        "failed": ("/failed", "# no such mailbox"),
        "workers": ("/workers", "Workers that are there"),
        "schedules": ("/schedules", "nightly"),
        "limits": ("/queue/Mail/limits", "no limits"),
        "pauses": ("/queue/Mail/pauses", "not paused"),
        "operations": ("/operations", "resume"),
        "operation": (f"/queue/Mail/operation?number={browser.server.operation()}", "it took"),
        "doctor": ("/doctor", "Run the checks"),
        "nothing": ("/nowhere", "There is nothing here"),
    }
    browser.open("/queue/Mail")
    browser.wait("two looks are drawn", lambda: "L" in (browser.find("svg path").get_attribute("d") or ""))
    for size in SIZES:
        for scheme in ["light", "dark"]:
            browser.look(scheme, size)
            for name, (path, words) in pages.items():
                browser.open(path)
                # The folded parts are judged as well.
                browser.unfold(True)
                assert words in browser.text(), f"{name}: {words} is not in {browser.text()}"
                browser.forget(404 if name == "nothing" else None)
                browser.judge(f"{name}, {scheme}, {size}")
                browser.unfold(False)
                browser.keep(f"{name}-{scheme}-{size}")
    browser.look("light", "wide")


def the_keyboard_is_enough(browser: Browser) -> None:
    browser.open("/queue/Mail/items")
    browser.find("body").send_keys(Keys.TAB)
    first = browser.driver.switch_to.active_element
    assert first.get_attribute("class") == "skip", "the first stop leads past the head"
    outline = browser.driver.execute_script("return getComputedStyle(document.activeElement).outlineStyle")
    assert outline == "solid", f"the focus is seen: {outline}"
    field = browser.find("input[name=q]")
    field.send_keys("mailbox", Keys.ENTER)
    browser.wait("what was asked for is shown", lambda: "3 items" in browser.text())


def a_search_is_completed_and_kept_in_the_address(browser: Browser) -> None:
    browser.open("/queue/Mail/items")
    offered = "return [...document.getElementById('words').options].map((option) => option.value)"
    assert "state:Failed" in browser.driver.execute_script(offered)
    field = browser.find("input[name=q]")
    field.send_keys("state:failed ty")
    completed = "state:failed type:Email"
    browser.wait("the last word is completed", lambda: completed in browser.driver.execute_script(offered))
    field.send_keys(Keys.BACKSPACE, Keys.BACKSPACE, 'error:"no such"', Keys.ENTER)
    browser.wait("the items are found", lambda: "3 items" in browser.text())
    address = browser.driver.current_url
    assert browser.find("input[name=q]").get_attribute("value") == 'state:failed error:"no such"'
    browser.driver.find_element(By.CSS_SELECTOR, "th.key a").click()
    browser.wait("the item is shown", lambda: "State machine" in browser.driver.page_source)
    assert "Item " in browser.driver.title, browser.driver.title
    browser.driver.back()
    browser.wait("the address is there again", lambda: browser.driver.current_url == address)
    browser.wait("the search is there again", lambda: "3 items" in browser.text())
    browser.judge("search")


def selected_items_are_changed(browser: Browser) -> None:
    browser.open("/queue/Mail/items?status=Pending")
    browser.find("#all").click()
    rows = browser.driver.find_elements(By.CSS_SELECTOR, "input[name=key]")
    assert rows and all(row.is_selected() for row in rows)
    browser.find("#all").click()
    rows[0].click()
    browser.find("button[name=verb][value=pause]").click()
    browser.wait("one item is asked for", lambda: "This changes 1 item " in browser.text())
    browser.judge("selected")


def unfolded_parts_stay_so(browser: Browser) -> None:
    browser.open(f"/queue/Mail/item?key={urllib.parse.quote(browser.server.key('Pending'))}")
    browser.find("details.payload summary").click()
    made = browser.find("#item time").text
    # The age of the item changes with each new sample.
    browser.wait("the page is taken again", lambda: browser.find("#item time").text not in ("", made))
    assert browser.find("details.payload").get_attribute("open"), "the payload stays unfolded"
    browser.unfold(True)
    assert '"campaign": "spring",' in browser.text(), "with a line for each member"


def figures_come_by_themselves(browser: Browser) -> None:
    browser.open("/queue/Mail")
    # Somebody who reads further down keeps the place where he is, and what is above goes on.
    browser.driver.execute_script("window.read = document.querySelector('#errors a'); window.read.focus()")
    browser.server.enqueue(range(50, 54))
    browser.wait("the new items are counted", lambda: browser.find(".tiles dd").text == "7")
    stays = browser.driver.execute_script("return window.read.isConnected && document.activeElement === window.read")
    assert stays, "without loading the page again, or taking away what has the focus"
    browser.judge("live")


def many_pages_are_open_at_once(browser: Browser) -> None:
    # A browser has six connections to a server, and each page listens.
    here = browser.driver.current_window_handle
    browser.driver.set_page_load_timeout(600)
    for _ in range(8):
        browser.driver.switch_to.new_window("tab")
        browser.open("/queue/Mail")
        assert "Throughput" in browser.text()
        browser.wait("it goes on", lambda: "hidden" in (browser.find("#offline").get_attribute("outerHTML")))
    for handle in browser.driver.window_handles:
        if handle != here:
            browser.driver.switch_to.window(handle)
            browser.driver.close()
    browser.driver.switch_to.window(here)


def act(browser: Browser, start: str, verb: str, expected: str) -> None:
    browser.open(start)
    browser.driver.find_element(By.LINK_TEXT, verb).click()
    browser.wait(f"{verb} is asked", lambda: browser.find("button.do"))
    browser.judge(f"{verb}, asked")
    browser.find("button.do").click()
    browser.wait(f"{verb} is done", lambda: expected in browser.text())
    browser.judge(f"{verb}, done")


def every_action(browser: Browser) -> None:
    before = browser.server.states()
    assert (before["Failed"], before["Error"], before["Pending"]) == (4, 2, 7), before
    act(browser, "/queue/Mail/items?status=Failed&error=mailbox", "redrive", "redriven: 3")
    act(browser, "/queue/Mail/items?status=Error", "retry", "retried: 2")
    key = urllib.parse.quote(browser.server.key("Pending"))
    act(browser, f"/queue/Mail/item?key={key}", "pause", "paused: 1")
    assert browser.server.states()["Paused"] == 1
    act(browser, "/queue/Mail/items?status=Paused", "resume", "resumed: 1")
    act(browser, "/queue/Mail/items?status=Pending", "cancel", "cancelled: 12")
    after = browser.server.states()
    assert (after["Failed"], after["Pending"], after["Cancelled"]) == (1, 0, 12), after
    act(browser, "/queue/Mail/items?status=Cancelled", "purge", "purged: 12")
    assert browser.server.states()["Cancelled"] == 0


def the_doctor_is_asked_by_its_button(browser: Browser) -> None:
    browser.open("/doctor")
    browser.find("main form button").click()
    browser.wait("the findings are shown", lambda: "0 errors" in browser.text())
    browser.judge("doctor, asked")


def a_lost_server_is_reported(browser: Browser) -> None:
    browser.open("/queue/Mail")
    browser.wait("it is connected", lambda: not browser.find("#offline").is_displayed())
    browser.server.stop()
    browser.wait("the loss is reported", lambda: "Disconnected" in browser.text())
    browser.server.start(browser.server.url.removeprefix("http://"))
    browser.wait("it is connected again", lambda: "Disconnected" not in browser.text())
    # The browser logs each try that failed.
    browser.driver.get_log("browser")


def what_leads_nowhere_says_so(browser: Browser) -> None:
    browser.open("/queue/Nope")
    assert "There is no such queue" in browser.text()
    # The browser logs that the page itself was not there.
    browser.driver.get_log("browser")
    browser.open("/queue/Mail/items?older=soon")
    assert "write a whole number" in browser.text()
    browser.driver.get_log("browser")


def main() -> None:
    server = Server(sys.argv[1])
    try:
        browser = Browser(server, pathlib.Path(sys.argv[2]))
        try:
            for test in [
                every_page,
                the_keyboard_is_enough,
                a_search_is_completed_and_kept_in_the_address,
                selected_items_are_changed,
                unfolded_parts_stay_so,
                figures_come_by_themselves,
                many_pages_are_open_at_once,
                every_action,
                the_doctor_is_asked_by_its_button,
                what_leads_nowhere_says_so,
                a_lost_server_is_reported,
            ]:
                test(browser)
                print(f"ok: {test.__name__.replace('_', ' ')}")
        finally:
            browser.driver.quit()
    finally:
        server.close()


if __name__ == "__main__":
    main()
