// Forms that send a request and show the response.

import { el } from "./dom.js";
import { exampleOf } from "./json_schema.js";

// The first part of a stream, which has no end.
async function firstPart(response) {
  const reader = response.body.getReader();
  const { value } = await reader.read();
  await reader.cancel();
  return new TextDecoder().decode(value);
}

async function textOf(response) {
  const type = response.headers.get("content-type") ?? "";
  if (type.startsWith("text/event-stream")) return `${await firstPart(response)}…`;
  const text = await response.text();
  if (!type.includes("json")) return text;
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

function target(operation, values) {
  const query = new URLSearchParams();
  let path = operation.path;
  for (const each of operation.parameters ?? []) {
    const value = values[each.name];
    // Slashes are part of an id.
    if (each.in === "path") path = path.replace(`{${each.name}}`, encodeURIComponent(value).replaceAll("%2F", "/"));
    else if (each.in === "query" && value) query.set(each.name, value);
  }
  return query.size ? `${path}?${query}` : path;
}

function headersOf(operation, values, key, body) {
  const headers = {};
  if (key) headers.Authorization = `Bearer ${key}`;
  if (body !== undefined) headers["Content-Type"] = "application/json";
  for (const each of operation.parameters ?? [])
    if (each.in === "header" && values[each.name]) headers[each.name] = values[each.name];
  return headers;
}

const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;

function curl(operation, url, headers, body) {
  const shown = { ...headers, ...(headers.Authorization ? { Authorization: "Bearer KEY" } : {}) };
  const parts = ["curl", ...(operation.method === "GET" ? [] : ["-X", operation.method]), quoted(url)];
  for (const [name, value] of Object.entries(shown)) parts.push("-H", quoted(`${name}: ${value}`));
  if (body !== undefined) parts.push("-d", quoted(body));
  return parts.join(" ");
}

function field(id, label, control) {
  control.id = id;
  return el("p", {}, el("label", { for: id }, label), el("br"), control);
}

// Creates the form of an operation; `key` returns the key that the visitor has entered.
export function tryForm(spec, operation, key) {
  const inputs = Object.fromEntries(
    (operation.parameters ?? []).map((each) => [
      each.name,
      el("input", { type: "text", required: each.required, autocomplete: "off", spellcheck: "false" }),
    ]),
  );
  const content = operation.requestBody?.content?.["application/json"];
  const body = content ? el("textarea", { rows: 8, spellcheck: "false" }) : null;
  if (body) body.value = JSON.stringify(content.example ?? exampleOf(spec, content.schema), null, 2);
  const result = el("div", { role: "status", class: "result" });
  const form = el(
    "form",
    {},
    ...Object.entries(inputs).map(([name, input]) => field(`${operation.id}-${name}`, name, input)),
    body && field(`${operation.id}-body`, "Body", body),
    el("p", {}, el("button", {}, "Send")),
    result,
  );
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const values = Object.fromEntries(Object.entries(inputs).map(([name, input]) => [name, input.value]));
    const headers = headersOf(operation, values, key(), body?.value);
    const url = target(operation, values);
    result.replaceChildren(el("p", {}, "Sending …"));
    try {
      const response = await fetch(url, {
        method: operation.method,
        headers,
        body: body?.value,
        credentials: headers.Authorization ? "omit" : "same-origin",
      });
      const kind = response.ok ? "good" : "bad";
      result.replaceChildren(
        el("p", { class: "outcome", "data-kind": kind }, `Status ${response.status} ${response.statusText}`.trim()),
        el("pre", {}, await textOf(response)),
        el("p", { class: "soft" }, "The same on the command line:"),
        el("pre", {}, curl(operation, `${location.origin}${url}`, headers, body?.value)),
      );
    } catch (error) {
      result.replaceChildren(el("p", { class: "outcome", "data-kind": "bad" }, `No response: ${error.message}`));
    }
  });
  return el("details", { class: "try" }, el("summary", {}, "Try it"), form);
}
