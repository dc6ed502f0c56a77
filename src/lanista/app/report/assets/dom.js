// Functions that make elements. Text of the study becomes text nodes only.

function add(node, children) {
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    node.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
  return node;
}

function assign(node, attributes) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (typeof value === "function")
      node.addEventListener(name, value);
    else if (value !== false && value !== null && value !== undefined)
      node.setAttribute(name, value === true ? "" : value);
  }
  return node;
}

function el(tag, attributes, ...children) {
  return add(assign(document.createElement(tag), attributes), children);
}

function svg(tag, attributes, ...children) {
  return add(assign(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes), children);
}

// Text of the study, isolated so that its writing direction does not change the text around it.
function isolated(text) {
  return el("bdi", {class: "isolated"}, text);
}

function trialLink(id) {
  const known = trials.rows.has(id);
  return known ? el("button", {type: "button", class: "link", click: () => select(id)}, `#${id}`) : `#${id}`;
}

function section(id, title, caption, ...children) {
  const head = el("header", {}, el("h2", {id: `${id}-title`}, title), caption && el("p", {class: "caption"}, caption));
  const node = el("section", {id, "aria-labelledby": `${id}-title`}, head, children);
  return node;
}

// Exclusive choices as radio buttons in a row.
function choices(label, options, chosen, onChange) {
  const name = `choice-${choices.count = (choices.count ?? 0) + 1}`;
  return el("fieldset", {class: "choices"}, el("legend", {}, label), options.map(([value, text]) => {
    const input = el("input", {type: "radio", name, value, checked: value === chosen, change: () => onChange(value)});
    return el("label", {}, input, el("span", {}, text));
  }));
}

function dropdown(label, options, chosen, onChange) {
  const node =
      el("select", {change: () => onChange(node.value)},
         options.map(([value, text]) => el("option", {value, selected: String(value) === String(chosen)}, text)));
  return el("label", {class: "dropdown"}, el("span", {}, label), node);
}

// The figures of a chart as a table, which is built when the reader first opens it.
const kMostDataRows = 500;
function dataTable(headers, makeRows) {
  const details = el("details", {class: "figures"}, el("summary", {}, "Figures as a table"));
  details.addEventListener("toggle", () => {
    if (!details.open) return;
    const rows = makeRows();
    const body = rows.slice(0, kMostDataRows)
                     .map(
                         (row) =>
                             el("tr", {},
                                row.map(
                                    (cell) =>
                                        el("td", {class: typeof cell === "number" ? "number" : null},
                                           typeof cell === "number" ? short(cell) : cell))));
    const table =
        el("table", {}, el("thead", {}, el("tr", {}, headers.map((h) => el("th", {scope: "col"}, h)))),
           el("tbody", {}, body));
    const rest = rows.length > kMostDataRows &&
        el("p", {class: "caption"}, `The first ${kMostDataRows} of ${short(rows.length)} rows.`);
    details.replaceChildren(details.firstChild, el("div", {class: "scroll", tabindex: 0}, table), rest || "");
  });
  return details;
}

function copyable(text) {
  const button =
      el("button", {
        type: "button",
        class: "copy",
        "aria-label": `Copy: ${text}`,
        click: async () => {
          try {
            await navigator.clipboard.writeText(text);
            button.textContent = "Copied";
          } catch {
            getSelection().selectAllChildren(code);
            button.textContent = "Selected";
          }
          setTimeout(() => {
            button.textContent = "Copy";
          }, 1500);
        }
      },
         "Copy");
  const code = el("code", {}, text);
  return el("div", {class: "command"}, code, button);
}

const bubble = el("div", {class: "bubble", role: "status", hidden: true});
function showBubble(x, y, lines) {
  bubble.replaceChildren(...lines.map((line) => el("div", {}, line)));
  bubble.hidden = false;
  const box = bubble.getBoundingClientRect();
  bubble.style.left = `${Math.max(4, Math.min(x + 14, innerWidth - box.width - 8))}px`;
  bubble.style.top = `${y + box.height + 22 > innerHeight ? y - box.height - 12 : y + 14}px`;
}
function hideBubble() {
  bubble.hidden = true;
}
