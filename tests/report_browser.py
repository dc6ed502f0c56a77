#!/usr/bin/env python3
"""Opens report pages in headless Chromium and uses them as a reader would.

    report_browser.py REPORT_CORPUS FOLDER [--looks]

REPORT_CORPUS writes the pages into FOLDER. Screenshots are stored there too, all of them with --looks. The script uses
chromedriver and the standard library. It exits with 77 if there is no browser.
"""

import os
import shutil
import subprocess
import sys
import time

from browser_driver import DOWN, Browser, expect, failures
from report_model_checks import check_assessed, check_labels, check_map, check_numbers, check_side_by_side, check_slices
from report_using import (check_axis_switch, check_brush, check_curve_keys, check_figures, check_filter_and_sort,
                          check_importance, check_searches, check_selection, check_selection_in_chart, check_timeline)

PAGES = ["small", "running", "live", "compare", "single", "empty", "failed", "duplicates", "pareto", "numbers",
         "labels", "hostile", "large"]
MOST_BYTES = 5_000_000


def check_quiet(browser, name):
    """The console has no message: no exception, no refused script or style. The page sends no request."""
    messages = [entry["message"] for entry in browser.log() if entry["level"] in ("SEVERE", "WARNING")]
    expect(not messages, f"{name}: the console has {messages[:3]}")
    requests = browser.run("return performance.getEntriesByType('resource').map(r => r.name)")
    expect([r for r in requests if not r.startswith("data:")] == [], f"{name}: the page requested {requests[:3]}")


def check_charts(browser, name):
    blank = browser.run("""return [...document.querySelectorAll('.chart canvas')].filter(c => {
        const d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data;
        return !d.some(v => v !== 0); }).map(c => c.parentNode.getAttribute('aria-label'));""")
    expect(blank == [], f"{name}: empty charts: {blank}")
    wide = browser.run("return document.documentElement.scrollWidth - innerWidth")
    expect(wide <= 0, f"{name}: the page is {wide} pixels wider than the window")


def check_phone(browser, folder, name, keep):
    """At the width of a phone, only tables scroll sideways."""
    browser.cdp("Emulation.setDeviceMetricsOverride", width=390, height=844, deviceScaleFactor=1, mobile=False)
    browser.settle()
    browser.settle()
    wide = browser.run("return document.documentElement.scrollWidth - innerWidth")
    expect(wide <= 0, f"{name}: on a phone the page is {wide} pixels wider than the window")
    if keep:
        browser.picture(os.path.join(folder, f"{name}-390.png"), 390)
    browser.cdp("Emulation.clearDeviceMetricsOverride")
    browser.settle()


def check_small(browser, folder, name):
    check_selection(browser, name)
    check_brush(browser, name)
    check_filter_and_sort(browser, name)
    check_axis_switch(browser, name)
    check_curve_keys(browser, name)
    check_selection_in_chart(browser, name)
    check_figures(browser, name)
    check_importance(browser, name)
    check_assessed(browser, name, 10)
    check_slices(browser, name)
    check_map(browser, name)
    check_side_by_side(browser, name)
    check_timeline(browser, name)
    check_searches(browser, name)
    found = browser.text(".found")
    expect("The best of 60 trials is #" in found and "A linear model reaches" in found,
           f"{name}: the first sentence is {found}")
    for part in ("quality", "slices", "map", "progress", "curves", "parallel", "importance", "trials", "model",
                 "lineage", "timeline", "economy", "failures"):
        expect(browser.run("return !!document.getElementById(arguments[0])", part),
               f"{name}: there is no section {part}")


def check_hostile(browser, folder, name):
    expect(browser.run("return window.pwned === undefined"), f"{name}: a script of the study ran")
    expect(browser.run("return document.images.length") == 0, f"{name}: markup of the study became an element")
    expect(browser.run("return document.scripts.length") == 2, f"{name}: the page has other scripts than its own")
    expect("<script>" in browser.text("h1"),
           f"{name}: the study's name is not shown as it is: {browser.text('h1')[:80]}")
    commands = check_selection(browser, name)
    for command in commands:
        quoted = subprocess.run(["sh", "-c", command.replace("lanista", "printf '%s\\n'", 1)], capture_output=True,
                                text=True)
        words = quoted.stdout.splitlines()
        expect(len(words) == 2 and words[1].startswith("it's <b>a</b> \"folder\"; rm -rf#"),
               f"{name}: a shell reads {command} as {words}")
    browser.run("document.querySelectorAll('details').forEach(d => d.open = true)")
    time.sleep(0.2)
    browser.run("""[...document.querySelectorAll('#trials tbody tr[data-trial]')].slice(0, 12).forEach(
        r => r.click())""")
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
    """A page of a running study reloads itself, and keeps the reader's choices."""
    browser.run("""document.querySelector('#hold').click();  // no reload while the reader makes choices
        document.querySelector('#progress input[value=seconds]').click();
        const metric = document.querySelector('#curves select');
        metric.value = '1'; metric.dispatchEvent(new Event('change'));
        const q = document.getElementById('query');
        q.value = 'epochs>2'; q.dispatchEvent(new Event('input')); q.focus();
        document.querySelector('#curves details').open = true;
        [...document.querySelectorAll('#trials th button')].find(b => b.textContent === 'parameters').click();
        compareTrials([2, 5]);
        select(3);""")
    browser.settle()
    browser.run("""document.querySelector('.scroll.trials').scrollTop = 60;
        scrollTo({top: 900, behavior: 'instant'});""")
    browser.settle()
    see = """const rows = document.querySelector('.scroll.trials');
        return {scroll: [Math.round(scrollY), rows.scrollTop],
                selected: document.querySelector('#details h2').textContent,
                query: document.getElementById('query').value,
                count: document.querySelector('output.count').textContent,
                by: document.querySelector('#progress input:checked').value,
                metric: document.querySelector('#curves select').value,
                compared: [...document.querySelectorAll('#side thead th')].map(h => h.textContent.trim()).join(),
                open: document.querySelector('#curves details').open, focus: document.activeElement.id,
                sorted: document.querySelector('#trials th[aria-sort]').textContent};"""
    left, before = browser.run(see), browser.run("return performance.timeOrigin")
    expect(left["scroll"][0] > 500, f"{name}: the page is too short for this test: {left}")
    expect(left["metric"] == "1" and left["by"] == "seconds", f"{name}: the reader's choices are {left}")
    time.sleep(3)
    expect(browser.run("return performance.timeOrigin") == before, f"{name}: a held page reloads")
    browser.run("document.querySelector('#hold').click()")
    expect(loaded_again(browser, before), f"{name}: the page does not reload")
    browser.settle()
    found = browser.run(see)
    expect(found == left, f"{name}: the reader's state was {left} and is {found}")
    # A second reload keeps them too.
    again = browser.run("return performance.timeOrigin")
    expect(loaded_again(browser, again), f"{name}: the page reloads only once")
    browser.settle()
    expect(browser.run(see) == left, f"{name}: the second reload changes the reader's state")


def check_compare(browser, folder, name):
    expect(browser.run("return window.pwned === undefined"), f"{name}: a script of a study ran")
    expect(browser.run("return document.scripts.length") == 2, f"{name}: the page has other scripts than its own")
    for part in ("results", "curves", "effort", "differences"):
        expect(browser.run("return !!document.getElementById(arguments[0])", part),
               f"{name}: there is no section {part}")
    rows = browser.run("return document.querySelectorAll('#results tbody tr').length")
    expect(rows == 3, f"{name}: {rows} studies in the table")
    expect("different goals" in browser.text("#results"), f"{name}: it does not report different goals")
    take = "return document.querySelector('#curves canvas').toDataURL()"
    seen = {browser.run(take)}
    browser.run("document.querySelector('#curves input[value=seconds]').click()")
    browser.settle()
    seen.add(browser.run(take))
    expect(len(seen) == 2, f"{name}: another x axis gives the same chart")
    browser.run("document.querySelector('#curves details').open = true")
    time.sleep(0.2)
    expect(browser.run("return document.querySelectorAll('#curves details tbody tr').length") > 3,
           f"{name}: the curves have no figures")
    left, top, width, height = browser.box("#curves canvas")
    browser.click(left + width / 2, top + height / 2)


def check_timeless(browser, folder, name):
    check_numbers(browser, folder, name)
    text = browser.text("#timeline")
    expect("has no working times" in text, f"{name}: without times the timeline has {text}")


def check_stages(browser, folder, name):
    """The pipeline section: the graph of stages, the charts of the simulated and the measured step, and figures."""
    expect("3 stages on 2 ranks. The passes of a step of 32 samples needed" in browser.text("#pipeline"),
           f"{name}: stages are not shown: {browser.text('#pipeline')[:500]}")
    boxes, arrows = browser.run("return [document.querySelectorAll('#pipeline svg .node').length, "
                                "document.querySelectorAll('#pipeline svg .edge').length]")
    expect((boxes, arrows) == (3, 2), f"{name}: the graph has {boxes} stages and {arrows} arrows")
    charts = browser.run("return document.querySelector('#pipeline pre').textContent")
    expect(charts.startswith("  simulated, ") and "\n  measured, " in charts and charts.count("|") == 8,
           f"{name}: the charts are {charts}")
    kinds = browser.run("return ['forward', 'backward', 'weights'].map(k => document.querySelectorAll("
                        "'#pipeline pre .' + k).length)")
    expect(min(kinds) > 1, f"{name}: passes have no colours: {kinds}")
    browser.run("document.querySelector('#pipeline details.figures').open = true")
    time.sleep(0.2)
    rows = browser.run("return [...document.querySelectorAll('#pipeline details tbody tr')].map(r => "
                       "[...r.children].map(c => c.textContent))")
    expect(len(rows) == 3 and rows[1][1] == "3: %2 linear .. %4 relu" and rows[0][2] == "2",
           f"{name}: the figures of stages are {rows}")


def check_hosts(browser, folder, name):
    """Hosts are shown in the rows of workers, in the table of hosts, and in the details of a trial that moved."""
    rows = browser.run("return [...document.querySelectorAll('#hosts tbody tr')].map(r => [...r.children].map(c => "
                       "c.textContent))")
    expect([row[0][:5] for row in rows] == ["a-nod", "node1", "node2"] and
           [row[1] for row in rows] == ["1", "1", "2"] and [row[3] for row in rows] == ["0", "1", "0"],
           f"{name}: the table of hosts is {rows}")
    shares = [int(row[2].split()[0]) for row in rows]
    expect(99 <= sum(shares) <= 101 and min(shares) > 0, f"{name}: the hosts' shares are {shares}")
    text = browser.text("#timeline")
    expect("1 trial moved 2 times, at most 1.75 s of work lost." in text, f"{name}: moves are not shown: {text[:900]}")
    browser.run("document.querySelector('#timeline details.figures').open = true")
    time.sleep(0.2)
    where = set(browser.run("return [...document.querySelectorAll('#timeline details tbody tr')].map(r => "
                            "r.children[2].textContent)"))
    expect(where == {"worker 0 on node1", "worker 0 on a-node-with-a-name-that-is-longer-than-a-label",
                     "worker 1 on node2", "worker 2 on node1", "worker 3 on node2"},
           f"{name}: workers are {where}")
    browser.run("select(3)")
    browser.settle()
    facts = browser.text("#details")
    expect("from worker 0 on node1 to worker 1 on node2: at most 1.25 s of its work lost; from worker 1 on node2 to "
           "worker 0 on a-node" in facts,
           f"{name}: the moves of trial 3 are not shown: {facts[:900]}")


def check_running(browser, folder, name):
    check_hosts(browser, folder, name)
    check_stages(browser, folder, name)


CHECKS = {"live": check_live, "running": check_running, "compare": check_compare, "small": check_small,
          "hostile": check_hostile, "large": check_large, "pareto": check_pareto,
          "numbers": check_timeless, "labels": check_labels}


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
