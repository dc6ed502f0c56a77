"""Checks of report pages in use: selection, brushing, filters, sorting, keys, tables of figures."""

import time

from browser_driver import DOWN, ESCAPE, TAB, expect


def count_shown(browser):
    return int(browser.text("output.count").split(" of ")[0].replace(",", ""))


def check_selection(browser, name):
    x, y, _, _ = browser.box("#trials tbody tr[data-trial]:nth-child(4)")
    wanted = browser.run("return document.querySelector('#trials tbody tr[data-trial]:nth-child(4)').dataset.trial")
    browser.click(x + 60, y + 12)
    expect(browser.text("#details h2") == f"Trial #{wanted}",
           f"{name}: a click on row #{wanted} shows {browser.text('#details h2')}")
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
    column = browser.run("""const heads = [...document.querySelectorAll('#trials th')];
        const at = heads.findIndex(h => h.textContent === 'parameters');
        return [...document.querySelectorAll('#trials tbody tr[data-trial]')].map(
          r => Number(r.children[at].textContent.replace(/,/g, '')));""")
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
    expect(len(seen) == 3, f"{name}: three x axes give {len(seen)} different charts")
    browser.run("document.querySelector('#progress input[value=trials]').click()")


def check_figures(browser, name):
    """Each chart has a table of figures, and Tab reaches each control."""
    bare = browser.run("""return [...document.querySelectorAll('section')].filter(
        s => s.querySelector('.chart, .drawing') && !s.querySelector('details.figures')).map(s => s.id);""")
    expect(bare == [], f"{name}: charts without figures: {bare}")
    browser.run("document.querySelectorAll('details.figures').forEach(d => d.open = true)")
    time.sleep(0.2)
    empty = browser.run("return [...document.querySelectorAll('details.figures')].filter(d => !d.querySelector('tbody "
                        "tr')).length")
    expect(empty == 0, f"{name}: {empty} tables of figures have no row")
    browser.run("document.querySelectorAll('details.figures').forEach(d => d.open = false)")
    browser.run("document.querySelector('nav a').focus()")
    reached = []
    for _ in range(90):
        browser.keys(TAB)
        reached.append(browser.run("""const a = document.activeElement;
            const s = a.closest('section, nav, aside, footer, header');
            return [s?.id || s?.tagName || '', getComputedStyle(a).outlineStyle !== 'none' || a.type === 'radio'];"""))
    places = {place for place, _ in reached}
    expect({"progress", "curves", "parallel", "trials"} <= places, f"{name}: Tab reaches only {sorted(places)}")
    hidden = [place for place, visible in reached if not visible and place not in ("", "BODY")]
    expect(hidden == [], f"{name}: focus cannot be seen in {hidden[:5]}")


def check_selection_in_chart(browser, name):
    """A click on a curve selects its trial."""
    browser.run("document.querySelector('#details button.plain')?.click()")
    browser.settle()
    left, top, width, height = browser.box("#curves canvas")
    for part in (0.3, 0.4, 0.5, 0.6, 0.2):
        for place in (0.25, 0.35, 0.45, 0.15, 0.55, 0.7):
            browser.click(left + width * part, top + height * place)
            browser.settle()
            if (browser.text("#details h2") or "").startswith("Trial #"):
                return
    expect(False, f"{name}: no click on a curve selects a trial")


def check_importance(browser, name):
    shares = browser.run("""return [...document.querySelectorAll('#importance .shares')].map(
        t => [...t.querySelectorAll('tbody tr')].map(r => parseFloat(r.children[2].textContent)));""")
    expect(len(shares) >= 1 and len(shares[0]) >= 4, f"{name}: what mattered has the rows {shares}")
    for table in shares:
        expect(table == sorted(table, reverse=True), f"{name}: shares are not in order: {table}")
    total = sum(sum(table) for table in shares)
    expect(30 < total < 110, f"{name}: shares add up to {total} %")
    wide = browser.run("""return [...document.querySelectorAll('#importance .fill')].map(
        f => f.getBoundingClientRect().width);""")
    expect(wide and max(wide) > 100, f"{name}: the bars are {wide} pixels wide")


def check_timeline(browser, name):
    """Trials that share a worker have their own lanes, helpers differ from leaders, and the least time is shown."""
    browser.run("document.querySelector('#timeline details.figures').open = true")
    time.sleep(0.2)
    rows = browser.run("return [...document.querySelectorAll('#timeline details tbody tr')].map(r => "
                       "r.children[1].textContent + ' ' + r.children[2].textContent)")
    browser.run("document.querySelector('#timeline details.figures').open = false")
    shares = [row for row in rows if "worker 4" in row or "worker 5" in row]
    expect(shares == ["#1 1/3 of worker 4", "#2 1/3 of worker 4", "#3 1/3 of worker 4", "#4 worker 4, helping",
                      "#4 worker 5 and 1 helper"],
           f"{name}: the timeline's shares are {shares}")
    text = browser.text("#timeline")
    for words in ("The least time of this work", "all work spread evenly", "Assumed: all could begin at once",
                  "as high as its share", "a striped bar"):
        expect(words in text, f"{name}: the timeline does not have '{words}': {text[:900]}")
    browser.run("document.querySelector('#timeline canvas').scrollIntoView()")
    browser.settle()
    left, top, width, _ = browser.box("#timeline canvas")
    found = []
    for lane in range(3):
        browser.click(left + 79.5, top + 4 + 4 * 34 + 3 + (lane + 0.5) * 28 / 3)
        browser.settle()
        found.append(browser.text("#details h2"))
    expect(found == ["Trial #1", "Trial #2", "Trial #3"], f"{name}: clicks on three lanes of a bar select {found}")


def check_searches(browser, name):
    """Each branch of a tune search has a line and a bubble with its setting; each search has a row."""
    browser.run("select(1)")
    browser.settle()
    rows = browser.run("return [...document.querySelectorAll('#searches .plain-table tbody tr')].map(r => "
                       "[...r.children].map(c => c.textContent))")
    expect(len(rows) in (1, 3) and rows[0][0] == "1" and rows[0][2] == "4" and rows[0][4] == "lr=0.1" and
           rows[0][5] == "16" and rows[0][7] == "16",
           f"{name}: the searches of trial 1 are {rows}")
    if len(rows) == 3:
        expect(rows[1][4].startswith("none") and rows[2][3] == "unknown", f"{name}: later searches are {rows[1:]}")
    bubbles = browser.run("""const c = document.querySelector('#searches canvas'), box = c.getBoundingClientRect();
        const texts = new Set();
        for (let x = 50; x < box.width; x += 3) for (let y = 10; y < box.height; y += 3) {
          c.dispatchEvent(new PointerEvent('pointermove', {clientX: box.left + x, clientY: box.top + y}));
          if (!document.querySelector('.bubble').hidden) texts.add(document.querySelector('.bubble').textContent);
        }
        return [...texts];""")
    for words in ("lr=0.1", "the trial continued from it", "lr=0.01", "did not fall", "diverged"):
        expect(any(words in text for text in bubbles), f"{name}: no bubble of a branch has {words}: {bubbles}")
    expect("1 trial searched for settings" in browser.text("#searches"), f"{name}: the section does not count searches")
