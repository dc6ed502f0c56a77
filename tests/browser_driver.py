"""Drives a headless Chromium by the WebDriver protocol through chromedriver, with the standard library only.

`expect` collects the failed checks of all pages.
"""

import base64
import json
import re
import subprocess
import time
import urllib.error
import urllib.request

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
        """Drags from one point of the window to another; two equal points give a click."""
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
        """Waits for two frames, after which all changes are visible."""
        self.call("POST", "/execute/async", {"args": [], "script":
                  "const done = arguments[0]; requestAnimationFrame(() => requestAnimationFrame(() => done()));"})

    def box(self, selector):
        """Scrolls to an element, and returns its left, top, width and height in the window."""
        self.run("document.querySelector(arguments[0]).scrollIntoView({block: 'center', behavior: 'instant'})",
                 selector)
        self.settle()
        return self.run("""const node = document.querySelector(arguments[0]);
            node.scrollIntoView({block: "center", behavior: "instant"});
            const b = node.getBoundingClientRect(); return [b.left, b.top, b.width, b.height];""", selector)

    def text(self, selector):
        return self.run("return document.querySelector(arguments[0])?.textContent ?? null", selector)

    def picture(self, path, width, **media):
        """Stores a screenshot of the whole page at a width."""
        features = [{"name": "prefers-color-scheme", "value": media.get("scheme", "light")}]
        self.cdp("Emulation.setEmulatedMedia", media=media.get("media", ""), features=features)
        for _ in range(2):  # the first one gives the height of the page at this width
            height = self.run("return document.documentElement.scrollHeight")
            self.cdp("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1,
                     mobile=False)
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
