#!/usr/bin/env python3
"""Opens report pages in headless Chromium and uses them as a reader would.

    report_browser.py REPORT_CORPUS FOLDER [--looks]

REPORT_CORPUS writes the pages into FOLDER; screenshots go there too, all of them with --looks. Speaks the WebDriver
protocol with chromedriver and needs nothing but the standard library. Exits 77 where there is no browser.
"""

import base64
import json
import os
import re
import shutil
import subprocess
import sys
import time
import urllib.error
import urllib.request

PAGES = ["small", "running", "live", "compare", "single", "empty", "failed", "duplicates", "pareto", "hostile", "large"]
MOST_BYTES = 5_000_000
ESCAPE, DOWN, TAB = "\ue00c", "\ue015", "\ue004"


class Browser:
    """One session of a headless browser."""

    def __init__(self, chromedriver, chromium):
        self.driver = subprocess.Popen([chromedriver, "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        port = None
        for line in self.driver.stdout:
            found = re.search(rb"started successfully on port (\d+)", line)
            if found:
                port = int(found.group(1))
                break
        if port is None:
            raise RuntimeError("chromedriver did not start")
        self.base = f"http://127.0.0.1:{port}/session"
        args = ["--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--window-size=1280,900"]
        self.base += "/" + self.call("POST", "", {"capabilities": {"alwaysMatch": {
            "browserName": "chrome",
            "goog:loggingPrefs": {"browser": "ALL"},
            "goog:chromeOptions": {"binary": chromium, "args": args},
        }}})["sessionId"]

    def call(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.base + path, data, {"Content-Type": "application/json"}, method=method)
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(request, timeout=120) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            raise RuntimeError(f"{method} {path}: {error.read().decode()[:500]}") from None

    def close(self):
        try:
            self.call("DELETE", "")
        finally:
            self.driver.terminate()
            self.driver.wait()

    def open(self, path):
        self.call("POST", "/url", {"url": "file://" + path})
        deadline = time.monotonic() + 60
        while not self.run("return document.documentElement.dataset.rendered"):
            if time.monotonic() > deadline:
                raise RuntimeError(f"{path} was not rendered within a minute: {self.log()}")
            time.sleep(0.05)

    def run(self, script, *args):
        return self.call("POST", "/execute/sync", {"script": script, "args": list(args)})

    def cdp(self, command, **params):
        return self.call("POST", "/goog/cdp/execute", {"cmd": command, "params": params})

    def log(self):
        return self.call("POST", "/se/log", {"type": "browser"})

    def keys(self, *keys):
        actions = [{"type": kind, "value": key} for key in keys for kind in ("keyDown", "keyUp")]
        self.call("POST", "/actions", {"actions": [{"type": "key", "id": "keyboard", "actions": actions}]})
        self.settle()

    def drag(self, x0, y0, x1, y1):
        """From one place of the window to another; the same place twice is a click."""
        moves = [{"type": "pointerMove", "x": int(x0), "y": int(y0)}, {"type": "pointerDown", "button": 0}]
        if (x0, y0) != (x1, y1):
            moves += [{"type": "pointerMove", "x": int(x1), "y": int(y1), "duration": 120}]
        moves += [{"type": "pointerUp", "button": 0}]
        pointer = {"type": "pointer", "id": "mouse", "parameters": {"pointerType": "mouse"}, "actions": moves}
        self.call("POST", "/actions", {"actions": [pointer]})
        self.settle()

    def click(self, x, y):
        self.drag(x, y, x, y)

    def settle(self):
        """Two frames: what was announced has been drawn."""
        self.call("POST", "/execute/async", {"args": [], "script":
                  "const done = arguments[0]; requestAnimationFrame(() => requestAnimationFrame(() => done()));"})

    def box(self, selector):
        """Where an element stands in the window, after scrolling to it."""
        return self.run("""const node = document.querySelector(arguments[0]);
            node.scrollIntoView({block: "center", behavior: "instant"});
            const b = node.getBoundingClientRect(); return [b.left, b.top, b.width, b.height];""", selector)

    def text(self, selector):
        return self.run("return document.querySelector(arguments[0])?.textContent ?? null", selector)

    def picture(self, path, width, **media):
        """The whole page at a width, as a window tall enough to hold it shows it."""
        features = [{"name": "prefers-color-scheme", "value": media.get("scheme", "light")}]
        self.cdp("Emulation.setEmulatedMedia", media=media.get("media", ""), features=features)
        for _ in range(2):  # the first one tells how tall the page is at that width
            height = self.run("return document.documentElement.scrollHeight")
            self.cdp("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
            time.sleep(0.2)
            self.settle()
        shot = self.cdp("Page.captureScreenshot", format="png")
        with open(path, "wb") as file:
            file.write(base64.b64decode(shot["data"]))
        self.cdp("Emulation.setEmulatedMedia", media="", features=[])
        self.cdp("Emulation.clearDeviceMetricsOverride")

    def paper(self, path):
        with open(path, "wb") as file:
            file.write(base64.b64decode(self.cdp("Page.printToPDF", printBackground=False)["data"]))


failures = []


def expect(condition, what):
    if not condition:
        failures.append(what)
        print("FAILED: " + what)


def count_shown(browser):
    return int(browser.text("output.count").split(" of ")[0].replace(",", ""))


def check_quiet(browser, name):
    """Nothing on the console: no exception, no refused script or style, no request."""
    said = [entry["message"] for entry in browser.log() if entry["level"] in ("SEVERE", "WARNING")]
    expect(not said, f"{name}: the console says {said[:3]}")
    requests = browser.run("return performance.getEntriesByType('resource').map(r => r.name)")
    expect([r for r in requests if not r.startswith("data:")] == [], f"{name}: the page asked for {requests[:3]}")


def check_charts(browser, name):
    blank = browser.run("""return [...document.querySelectorAll('.chart canvas')].filter(c => {
        const d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data;
        return !d.some(v => v !== 0); }).map(c => c.parentNode.getAttribute('aria-label'));""")
    expect(blank == [], f"{name}: empty charts: {blank}")
    wide = browser.run("return document.documentElement.scrollWidth - innerWidth")
    expect(wide <= 0, f"{name}: the page is {wide} pixels wider than the window")


def check_phone(browser, folder, name, keep):
    """At the width of a phone nothing but tables is to be moved sideways."""
    browser.cdp("Emulation.setDeviceMetricsOverride", width=390, height=844, deviceScaleFactor=1, mobile=False)
    browser.settle()
    browser.settle()
    wide = browser.run("return document.documentElement.scrollWidth - innerWidth")
    expect(wide <= 0, f"{name}: on a phone the page is {wide} pixels wider than the window")
    if keep:
        browser.picture(os.path.join(folder, f"{name}-390.png"), 390)
    browser.cdp("Emulation.clearDeviceMetricsOverride")
    browser.settle()


def check_selection(browser, name):
    x, y, _, _ = browser.box("#trials tbody tr[data-trial]:nth-child(4)")
    wanted = browser.run("return document.querySelector('#trials tbody tr[data-trial]:nth-child(4)').dataset.trial")
    browser.click(x + 60, y + 12)
    expect(browser.text("#details h2") == f"Trial #{wanted}", f"{name}: a click on row #{wanted} shows {browser.text('#details h2')}")
    chosen = browser.run("return [...document.querySelectorAll('tr[aria-selected=true]')].map(r => r.dataset.trial)")
    expect(chosen == [wanted], f"{name}: rows {chosen} are marked, not #{wanted}")
    commands = browser.run("return [...document.querySelectorAll('#details .command code')].map(c => c.textContent)")
    expect(len(commands) == 2 and all(f"#{wanted}" in c for c in commands), f"{name}: commands {commands}")
    browser.run("document.querySelector('.scroll.trials').focus()")
    browser.keys(DOWN)
    after = browser.text("#details h2")
    expect(after != f"Trial #{wanted}", f"{name}: the arrow key chose no other row")
    return commands


def check_curve_keys(browser, name):
    browser.run("document.querySelector('#curves .chart').focus()")
    before = browser.text("#details h2")
    browser.keys(DOWN)
    browser.keys(DOWN)
    expect(browser.text("#details h2") != before, f"{name}: arrow keys in the curves choose nothing")


def check_brush(browser, name):
    whole = count_shown(browser)
    left, top, width, height = browser.box("#parallel canvas")
    x = left + width - 55  # the last axis: the goal
    browser.drag(x, top + 60, x, top + height * 0.45)
    some = count_shown(browser)
    expect(0 < some < whole, f"{name}: brushing an axis leaves {some} of {whole} trials")
    browser.keys(ESCAPE)
    expect(count_shown(browser) == whole, f"{name}: Escape leaves {count_shown(browser)} of {whole} trials")


def check_filter_and_sort(browser, name):
    whole = count_shown(browser)
    browser.run("""const q = document.getElementById('query'); q.focus(); q.value = arguments[0];
                   q.dispatchEvent(new Event('input'));""", "optimizer=adam parameters>700")
    browser.settle()
    expect(0 < count_shown(browser) < whole, f"{name}: the filter leaves {count_shown(browser)} of {whole} trials")
    browser.keys(ESCAPE)
    expect(count_shown(browser) == whole, f"{name}: Escape does not clear the filter")
    browser.run("[...document.querySelectorAll('#trials th button')].find(b => b.textContent === 'parameters').click()")
    browser.settle()
    column = browser.run("""const at = [...document.querySelectorAll('#trials th')].findIndex(h => h.textContent === 'parameters');
        return [...document.querySelectorAll('#trials tbody tr[data-trial]')].map(r => Number(r.children[at].textContent.replace(/,/g, '')));""")
    expect(column == sorted(column), f"{name}: sorting by parameters gives {column[:8]}")
    browser.run("document.querySelector('#trials th button').click()")
    browser.settle()


def check_axis_switch(browser, name):
    take = "return document.querySelector('#progress canvas').toDataURL()"
    seen = {browser.run(take)}
    for key in ("seconds", "steps"):
        browser.run("document.querySelector(`#progress input[value=${arguments[0]}]`).click()", key)
        browser.settle()
        seen.add(browser.run(take))
    expect(len(seen) == 3, f"{name}: switching the x axis draws {len(seen)} different charts of 3")
    browser.run("document.querySelector('#progress input[value=trials]').click()")


def check_figures(browser, name):
    """Every chart has its table, and every control can be reached by Tab."""
    bare = browser.run("""return [...document.querySelectorAll('section')].filter(s => s.querySelector('.chart, .drawing') &&
        !s.querySelector('details.figures')).map(s => s.id);""")
    expect(bare == [], f"{name}: charts without figures: {bare}")
    browser.run("document.querySelectorAll('details.figures').forEach(d => d.open = true)")
    time.sleep(0.2)
    empty = browser.run("return [...document.querySelectorAll('details.figures')].filter(d => !d.querySelector('tbody tr')).length")
    expect(empty == 0, f"{name}: {empty} tables of figures have no row")
    browser.run("document.querySelectorAll('details.figures').forEach(d => d.open = false)")
    browser.run("document.querySelector('nav a').focus()")
    reached = []
    for _ in range(60):
        browser.keys(TAB)
        reached.append(browser.run("""const a = document.activeElement, s = a.closest('section, nav, aside, footer, header');
            return [s?.id || s?.tagName || '', getComputedStyle(a).outlineStyle !== 'none' || a.type === 'radio'];"""))
    places = {place for place, _ in reached}
    expect({"progress", "curves", "parallel", "trials"} <= places, f"{name}: Tab reaches only {sorted(places)}")
    hidden = [place for place, visible in reached if not visible and place not in ("", "BODY")]
    expect(hidden == [], f"{name}: focus cannot be seen in {hidden[:5]}")


def check_selection_in_chart(browser, name):
    """Some place of the curve chart holds a trial, and a click on it selects one."""
    left, top, width, height = browser.box("#curves canvas")
    browser.run("document.querySelector('#details button.plain')?.click()")
    browser.settle()
    for part in (0.3, 0.4, 0.5, 0.6, 0.2):
        for place in (0.25, 0.35, 0.45, 0.15, 0.55, 0.7):
            browser.click(left + width * part, top + height * place)
            if (browser.text("#details h2") or "").startswith("Trial #"):
                return
    expect(False, f"{name}: no click on a curve selects a trial")


def check_small(browser, folder, name):
    check_selection(browser, name)
    check_brush(browser, name)
    check_filter_and_sort(browser, name)
    check_axis_switch(browser, name)
    check_curve_keys(browser, name)
    check_selection_in_chart(browser, name)
    check_figures(browser, name)
    check_importance(browser, name)
    for part in ("progress", "curves", "parallel", "importance", "trials", "model", "lineage", "timeline", "economy", "failures"):
        expect(browser.run("return !!document.getElementById(arguments[0])", part), f"{name}: there is no section {part}")


def check_hostile(browser, folder, name):
    expect(browser.run("return window.pwned === undefined"), f"{name}: a script of the study ran")
    expect(browser.run("return document.images.length") == 0, f"{name}: markup of the study became an element")
    expect(browser.run("return document.scripts.length") == 2, f"{name}: the page has other scripts than its own")
    expect("<script>" in browser.text("h1"), f"{name}: the study's name is not shown as it is: {browser.text('h1')[:80]}")
    commands = check_selection(browser, name)
    for command in commands:
        quoted = subprocess.run(["sh", "-c", command.replace("lanista", "printf '%s\\n'", 1)], capture_output=True, text=True)
        said = quoted.stdout.splitlines()
        expect(len(said) == 2 and said[1].startswith("it's <b>a</b> \"folder\"; rm -rf#"), f"{name}: a shell reads {command} as {said}")
    browser.run("document.querySelectorAll('details').forEach(d => d.open = true)")
    time.sleep(0.2)
    browser.run("""[...document.querySelectorAll('#trials tbody tr[data-trial]')].slice(0, 12).forEach(r => r.click())""")
    browser.settle()
    expect(browser.run("return window.pwned === undefined"), f"{name}: a script of the study ran after clicks")


def check_large(browser, folder, name):
    size = os.path.getsize(os.path.join(folder, name + ".html"))
    expect(size <= MOST_BYTES, f"{name}: the page has {size} bytes, more than {MOST_BYTES}")
    at = browser.run("return performance.getEntriesByName('report-rendered')[0].startTime")
    print(f"{name}: {size} bytes, rendered {at:.0f} ms after navigation began")
    check_brush(browser, name)
    rows = browser.run("return document.querySelectorAll('#trials tbody tr').length")
    expect(rows < 100, f"{name}: the table keeps {rows} rows in the document")
    browser.run("document.querySelector('#lineage input[value=all]').click()")
    browser.settle()


def check_pareto(browser, folder, name):
    expect(browser.run("return !!document.getElementById('pareto')"), f"{name}: there is no Pareto front")
    browser.run("document.querySelector('#pareto .chart').focus()")
    before = browser.text("#details h2")
    browser.keys(DOWN)
    browser.keys(DOWN)
    expect(browser.text("#details h2") != before, f"{name}: arrow keys do not walk along the front")


def check_importance(browser, name):
    shares = browser.run("""return [...document.querySelectorAll('#importance .shares')].map(t => [...t.querySelectorAll('tbody tr')].map(
        r => parseFloat(r.children[2].textContent)));""")
    expect(len(shares) >= 1 and len(shares[0]) >= 4, f"{name}: what mattered has the rows {shares}")
    for table in shares:
        expect(table == sorted(table, reverse=True), f"{name}: shares are not in order: {table}")
    total = sum(sum(table) for table in shares)
    expect(30 < total < 110, f"{name}: shares add up to {total} %")
    wide = browser.run("""return [...document.querySelectorAll('#importance .fill')].map(f => f.getBoundingClientRect().width);""")
    expect(wide and max(wide) > 100, f"{name}: the bars are {wide} pixels wide")


def loaded_again(browser, before):
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        try:
            if browser.run("return performance.timeOrigin") != before and \
                    browser.run("return document.documentElement.dataset.rendered"):
                return True
        except RuntimeError:
            pass  # between two documents
        time.sleep(0.05)
    return False


def check_live(browser, folder, name):
    """A page of a study under way loads itself again, and its reader finds what he left."""
    browser.run("""document.querySelector('#hold').click();  // the reader takes his time
        document.querySelector('#progress input[value=seconds]').click();
        const metric = document.querySelector('#curves select');
        metric.value = '1'; metric.dispatchEvent(new Event('change'));
        const q = document.getElementById('query'); q.value = 'epochs>2'; q.dispatchEvent(new Event('input')); q.focus();
        document.querySelector('#curves details').open = true;
        [...document.querySelectorAll('#trials th button')].find(b => b.textContent === 'parameters').click();
        select(3);""")
    browser.settle()
    browser.run("""document.querySelector('.scroll.trials').scrollTop = 60;
        scrollTo({top: 900, behavior: 'instant'});""")
    browser.settle()
    see = """const rows = document.querySelector('.scroll.trials');
        return {scroll: [Math.round(scrollY), rows.scrollTop], selected: document.querySelector('#details h2').textContent,
                query: document.getElementById('query').value, count: document.querySelector('output.count').textContent,
                by: document.querySelector('#progress input:checked').value, metric: document.querySelector('#curves select').value,
                open: document.querySelector('#curves details').open, focus: document.activeElement.id,
                sorted: document.querySelector('#trials th[aria-sort]').textContent};"""
    left, before = browser.run(see), browser.run("return performance.timeOrigin")
    expect(left["scroll"][0] > 500, f"{name}: the page is too short for this test: {left}")
    expect(left["metric"] == "1" and left["by"] == "seconds", f"{name}: the reader's choices are {left}")
    time.sleep(3)
    expect(browser.run("return performance.timeOrigin") == before, f"{name}: a page that is held loads itself again")
    browser.run("document.querySelector('#hold').click()")
    expect(loaded_again(browser, before), f"{name}: the page does not load itself again")
    browser.settle()
    found = browser.run(see)
    expect(found == left, f"{name}: the reader left {left} and finds {found}")
    # What nobody chose follows the study: with nothing chosen, nothing is held fast.
    again = browser.run("return performance.timeOrigin")
    expect(loaded_again(browser, again), f"{name}: the page loads itself only once")
    browser.settle()
    expect(browser.run(see) == left, f"{name}: the second time the reader finds something else")


def check_compare(browser, folder, name):
    expect(browser.run("return window.pwned === undefined"), f"{name}: a script of a study ran")
    expect(browser.run("return document.scripts.length") == 2, f"{name}: the page has other scripts than its own")
    for part in ("results", "curves", "effort", "differences"):
        expect(browser.run("return !!document.getElementById(arguments[0])", part), f"{name}: there is no section {part}")
    rows = browser.run("return document.querySelectorAll('#results tbody tr').length")
    expect(rows == 3, f"{name}: {rows} studies in the table")
    expect("different goals" in browser.text("#results"), f"{name}: it does not say that goals differ")
    take = "return document.querySelector('#curves canvas').toDataURL()"
    seen = {browser.run(take)}
    browser.run("document.querySelector('#curves input[value=seconds]').click()")
    browser.settle()
    seen.add(browser.run(take))
    expect(len(seen) == 2, f"{name}: switching the x axis draws the same chart")
    browser.run("document.querySelector('#curves details').open = true")
    time.sleep(0.2)
    expect(browser.run("return document.querySelectorAll('#curves details tbody tr').length") > 3, f"{name}: the curves have no figures")
    left, top, width, height = browser.box("#curves canvas")
    browser.click(left + width / 2, top + height / 2)


CHECKS = {"live": check_live, "compare": check_compare, "small": check_small, "hostile": check_hostile, "large": check_large, "pareto": check_pareto}


def take_pictures(browser, folder, name, all_looks):
    if name == "small" or all_looks:
        browser.picture(os.path.join(folder, f"{name}-light.png"), 1280)
        browser.picture(os.path.join(folder, f"{name}-dark.png"), 1280, scheme="dark")
        browser.picture(os.path.join(folder, f"{name}-800.png"), 800)
        browser.picture(os.path.join(folder, f"{name}-print.png"), 780, media="print", scheme="dark")
        browser.paper(os.path.join(folder, f"{name}.pdf"))


def main():
    corpus, folder = sys.argv[1], os.path.abspath(sys.argv[2])
    chromedriver, chromium = shutil.which("chromedriver"), shutil.which("chromium")
    if not chromedriver or not chromium:
        print("skipped: " + ("chromedriver" if not chromedriver else "chromium") + " is not installed")
        return 77
    os.makedirs(folder, exist_ok=True)
    subprocess.run([corpus, folder], check=True)
    browser = Browser(chromedriver, chromium)
    try:
        for name in PAGES:
            browser.open(os.path.join(folder, name + ".html"))
            check_charts(browser, name)
            CHECKS.get(name, lambda *_: None)(browser, folder, name)
            take_pictures(browser, folder, name, "--looks" in sys.argv)
            check_phone(browser, folder, name, "--looks" in sys.argv or name in ("small", "compare"))
            check_quiet(browser, name)
            print(name + ": looked at")
    finally:
        browser.close()
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
