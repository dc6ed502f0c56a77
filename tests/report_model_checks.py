"""Checks of report pages: assessment of the winner, slices and maps of hyper-parameters, comparison of trials."""

import time

from browser_driver import DOWN, expect


def check_assessed(browser, name, classes):
    """The confusion matrix has the counts of the page's data, for both parts."""
    cells = """return [...document.querySelectorAll('#quality .confusion tbody tr')].slice(0, -1).map(
        r => [...r.querySelectorAll('td')].slice(0, -1).map(
          c => c.textContent === '·' ? 0 : Number(c.textContent.replace(/,/g, ''))));"""
    seen = browser.run(cells)
    wanted = browser.run("return source.quality.parts[0].confusion")
    expect(len(seen) == classes and sum(seen, []) == wanted, f"{name}: the matrix shows {seen}")
    recall = browser.run("return [...document.querySelectorAll('#quality .confusion tbody tr')].slice(0, -1).map(r => "
                         "r.lastChild.textContent)")
    shares = [f"{round(100 * row[k] / sum(row) + 1e-9)}" if sum(row) else "–" for k, row in enumerate(seen)]
    expect(recall == shares, f"{name}: recall is {recall}, not {shares}")
    browser.run("document.querySelector('#quality input[value=\"1\"]').click()")
    browser.settle()
    other = browser.run(cells)
    expect(sum(other, []) == browser.run("return source.quality.parts[1].confusion"),
           f"{name}: the test part shows {other}")
    rows = browser.run("return [...document.querySelectorAll('#quality table.plain-table tbody th')].map(h => "
                       "h.textContent)")
    expect(any("linear" in row for row in rows), f"{name}: the winner is compared with {rows}")


def check_numbers(browser, folder, name):
    text = browser.text("#quality")
    expect("Predicted and actual" in text and "actual minus predicted" in text, f"{name}: the section has {text[:200]}")
    left, top, width, height = browser.box("#quality .chart[aria-label^=Predictions] canvas")
    take = "return document.querySelector('#quality .chart[aria-label^=Predictions] canvas').toDataURL()"
    before = browser.run(take)
    browser.run("""const s = document.querySelector('#quality select'); s.value = '1'; s.dispatchEvent(
        new Event('change'));""")
    browser.settle()
    expect(browser.run(take) != before, f"{name}: the second output has the chart of the first")
    browser.run("document.querySelectorAll('#quality details').forEach(d => d.open = true)")
    time.sleep(0.2)
    rows = browser.run("return [...document.querySelectorAll('#quality details')].map(d => d.querySelectorAll('tbody "
                       "tr').length)")
    expect(rows and min(rows) > 0, f"{name}: tables of figures have {rows} rows")


def check_labels(browser, folder, name):
    """Labels have the figures of the page's data, the worst label first; bars have the length of the figures."""
    take = """return [...document.querySelectorAll('#quality .labels tbody tr')].map(
        r => [...r.children].map(c => [c.textContent, c.style.backgroundSize]));"""
    for part in (0, 1):
        browser.run("document.querySelectorAll('#quality input')[arguments[0]].click()", part)
        browser.settle()
        rows = browser.run(take)
        wanted = browser.run("return source.quality.parts[arguments[0]].labels", part)
        expect(len(rows) == len(wanted) == 7, f"{name}: {len(rows)} labels are shown")
        before = -1
        for row, score in zip(rows, wanted):
            p, r = score["precision"], score["recall"]
            shares = [2 * p * r / (p + r) if p + r else 0, r, p]
            texts = [f"{100 * share:.{0 if share < 0.0005 else 1}f} %" for share in shares]
            expect([cell[0] for cell in row[1:4]] == texts, f"{name}: a row has {row}, not {texts}")
            lengths = [float(cell[1].split("%")[0]) for cell in row[1:4]]
            expect(all(abs(a - 100 * b) < 0.01 for a, b in zip(lengths, shares)), f"{name}: bars are {lengths} long")
            expect(before <= shares[0], f"{name}: the lowest F1 does not come first")
            before = shares[0]
            expect(row[4][0] == str(score["rows"]), f"{name}: a label of {score['rows']} rows has {row[4][0]}")
    text = browser.text("#quality")
    expect("Results for each label" in text and "2 without a prediction" in text,
           f"{name}: the section has {text[:200]}")
    expect("locusts" in text and "<b>bold</b>" in text, f"{name}: labels have other names: {text[:300]}")
    expect(browser.run("return document.querySelectorAll('#quality b').length") == 0,
           f"{name}: a name became an element")


def check_slices(browser, name):
    heads = browser.run("return [...document.querySelectorAll('#slices figcaption .isolated')].map(h => h.textContent)")
    expect({"lr", "optimizer", "momentum"} <= set(heads), f"{name}: slices of {heads}")
    of_momentum = browser.run("""return [...document.querySelectorAll('#slices figcaption')].find(
        f => f.textContent.startsWith('momentum')).textContent""")
    some = browser.run("const m = trials.params.find(p => p.name === 'momentum'); return ranked.filter(i => "
                       "m.has(i)).length")
    expect(f"{some} trials that have it" in of_momentum,
           f"{name}: the slice of momentum has {of_momentum}, of {some} trials")
    # A click on a trial in the first slice selects it.
    browser.run("select(0)")
    browser.settle()
    left, top, width, height = browser.box("#slices canvas")
    for across in range(20, 95, 5):
        for down in range(15, 80, 6):
            browser.click(left + width * across / 100, top + height * down / 100)
            browser.settle()
            if browser.run("return state.selected"):
                return
    expect(False, f"{name}: no click in a slice selects a trial")


def check_map(browser, name):
    take = "return document.querySelector('#map canvas').toDataURL()"
    axes = browser.run("return [...document.querySelectorAll('#map .dropdown')].map(d => "
                       "[...d.querySelectorAll('option')].map(o => o.textContent))")
    first = browser.run("return source.importance[0].singles.slice(0, 2).map(s => s.name)")
    chosen = browser.run("return [...document.querySelectorAll('#map select')].map(s => "
                         "s.selectedOptions[0].textContent)")
    expect(chosen == first, f"{name}: the map shows {chosen}, what mattered most is {first}")
    expect(len(axes) == 2 and axes[0] == axes[1] and len(axes[0]) == 5, f"{name}: the map offers {axes}")
    before = browser.run(take)
    browser.run("const s = document.querySelectorAll('#map select')[0]; s.value = '1'; s.dispatchEvent(new "
                "Event('change'))")
    browser.settle()
    swapped = browser.run("return [...document.querySelectorAll('#map select')].map(s => "
                          "s.selectedOptions[0].textContent)")
    expect(swapped == first[::-1], f"{name}: choosing the other's axis gives {swapped}")
    expect(browser.run(take) != before, f"{name}: the map does not change with its axes")
    # The figures do not depend on the choice of axes.
    browser.run("document.querySelector('#map details').open = true")
    time.sleep(0.2)
    figures = browser.run("return [...document.querySelectorAll('#map details tbody tr')].map(r => "
                          "[...r.children].map(c => c.textContent))")
    wanted = browser.run("""const m = source.importance[0].maps;
        const map = m.maps.find(x => x.first === 0 && x.second === 1);
        const [a, b] = [m.axes[0], m.axes[1]], rows = a.weights.length, columns = b.weights.length;
        const means = reals(map.means, rows * columns).values, out = [];
        for (let j = 0; j < columns; ++j) for (let i = 0; i < rows; ++i)
          out.push([b.labels[j], a.labels[i],
            Number.isNaN(means[i * columns + j]) ? '–' : fixed(means[i * columns + j])]);
        return out.slice(0, 500);""")
    expect(figures == wanted, f"{name}: the figures of the map are {figures[:3]}, not {wanted[:3]}")
    browser.run("document.querySelector('#map .chart').focus()")
    selected = browser.run("return state.selected")
    browser.keys(DOWN)
    browser.keys(DOWN)
    expect(browser.run("return state.selected") != selected, f"{name}: arrow keys choose nothing in the map")


def check_side_by_side(browser, name):
    tick = "document.querySelectorAll('#trials tbody tr[data-trial] input')[arguments[0]].click()"
    expect(browser.run("return document.getElementById('side').hidden"),
           f"{name}: trials are compared before a selection")
    browser.run(tick, 0)
    browser.settle()
    expect(browser.run("return document.getElementById('side').hidden"), f"{name}: a single trial is compared")
    browser.run(tick, 1)
    browser.run(tick, 2)
    browser.settle()
    ids = browser.run("return [...document.querySelectorAll('#trials tbody tr[data-trial]')].slice(0, 3).map(r => '#' "
                      "+ r.dataset.trial)")
    heads = browser.run("return [...document.querySelectorAll('#side thead th')].slice(1).map(h => "
                        "h.textContent.trim())")
    expect(heads == ids, f"{name}: ticked are {ids}, side by side {heads}")
    rows = browser.run("""return [...document.querySelectorAll('#side .side-table tbody tr')].map(
        r => [r.classList.contains('differs'), [...r.querySelectorAll('td')].map(c => c.textContent)])""")
    expect(rows and all(differs == (len(set(texts)) > 1) for differs, texts in rows),
           f"{name}: differences are marked so: {rows}")
    ticks = browser.run("return [...document.querySelectorAll('#trials tbody input')].filter(i => !i.disabled).length")
    expect(ticks == 3, f"{name}: a fourth trial can be ticked")
    browser.settle()
    blank = browser.run("""const c = document.querySelector('#side canvas:not([width="44"])');
        return !c.getContext('2d').getImageData(0, 0, c.width, c.height).data.some(v => v !== 0);""")
    expect(not blank, f"{name}: the curves side by side are empty")
    browser.run("document.querySelector('.scroll.trials').focus(); select(trials.id[ranked[0]])")
    browser.settle()
    browser.keys("c")
    expect(len(browser.run("return state.compared")) == 2, f"{name}: the key C does not take a trial away")
    browser.run("document.querySelector('#side .side-head button').click()")
    browser.settle()
    expect(browser.run("return document.getElementById('side').hidden"), f"{name}: the panel does not close")
