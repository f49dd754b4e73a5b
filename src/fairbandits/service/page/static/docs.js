// The API page: lists the operations of the OpenAPI document, and lets visitors try them.

import { $, el, setText, table } from "./dom.js";
import { exampleOf, fieldsOf, resolve } from "./json_schema.js";
import { tryForm } from "./try_form.js";

const METHODS = ["get", "post", "put", "patch", "delete"];

function operationsOf(spec) {
  return Object.entries(spec.paths).flatMap(([path, item]) =>
    METHODS.filter((method) => item[method]).map((method) => ({
      method: method.toUpperCase(),
      path,
      id: `${method}-${path.replaceAll(/[^a-z0-9]+/gi, "-")}`,
      ...item[method],
    })),
  );
}

const tagOf = (operation) => operation.tags?.[0] ?? "service";

function contents(byTag) {
  const lists = Object.entries(byTag).flatMap(([tag, operations]) => [
    el("p", { class: "tag" }, tag),
    el(
      "ul",
      {},
      ...operations.map((each) =>
        el("li", {}, el("a", { href: `#${each.id}` }, badge(each.method), " ", breakable(each.path))),
      ),
    ),
  ]);
  $("contents").replaceChildren(...lists);
}

const badge = (method) => el("span", { class: "method", "data-method": method }, method);

// A path that may be broken after its slashes.
function breakable(path) {
  const parts = path.split(/(?<=\/)/);
  return el("code", {}, ...parts.flatMap((part, i) => (i ? [el("wbr"), part] : [part])));
}

// Text with `code` in it, as nodes; by paragraph.
const inline = (text) => (text ?? "").split("`").map((part, i) => (i % 2 ? el("code", {}, part) : part));
const prose = (text) => (text ?? "").split(/\n\s*\n/).map((paragraph) => el("p", {}, ...inline(paragraph)));

function fieldTable(caption, fields) {
  const heads = ["Name", "Type", "Description"];
  const rows = fields.map((field) => [
    el("span", {}, breakable(field.name), field.required ? el("span", { class: "required" }, " required") : null),
    field.type,
    el("span", {}, ...inline(field.description)),
  ]);
  return el("div", { class: "fields" }, table(caption, heads, rows));
}

const json = (value) => el("pre", {}, JSON.stringify(value, null, 2));

function parameters(spec, operation) {
  if (!operation.parameters?.length) return [];
  const fields = operation.parameters.map((each) => {
    const [described] = fieldsOf(spec, { type: "object", properties: { [each.name]: each.schema } });
    const place = each.in === "header" ? "Header. " : each.in === "path" ? "Part of the path. " : "";
    return { ...described, required: each.required, description: `${place}${each.description ?? described.description}` };
  });
  return [el("h4", {}, "Parameters"), fieldTable(`Parameters of ${operation.path}`, fields)];
}

function request(spec, operation) {
  const content = operation.requestBody?.content?.["application/json"];
  if (!content) return [];
  const forms = content.schema.oneOf ?? [content.schema];
  return [
    el("h4", {}, "Request body"),
    ...(forms.length > 1 ? [el("p", { class: "soft" }, "One of these, or a list of them.")] : []),
    fieldTable(`Request body of ${operation.path}`, fieldsOf(spec, forms[0])),
    el("h4", {}, "Example request"),
    json(content.example ?? exampleOf(spec, forms[0])),
  ];
}

function responses(spec, operation) {
  const [[, success]] = Object.entries(operation.responses);
  const content = success.content?.["application/json"];
  const schema = content?.schema && resolve(spec, content.schema.oneOf?.[0] ?? content.schema);
  const others = Object.entries(operation.responses).map(([status, each]) => [
    status,
    el("span", {}, ...inline(each.description)),
  ]);
  return el(
    "details",
    {},
    el("summary", {}, "Responses"),
    table(`Responses of ${operation.path}`, ["Status", "Meaning"], others),
    ...(schema?.properties
      ? [
          el("h4", {}, "Response body"),
          ...prose(schema.description),
          fieldTable(`Response body of ${operation.path}`, fieldsOf(spec, schema)),
          el("h4", {}, "Example response"),
          json(content.example ?? exampleOf(spec, schema)),
        ]
      : []),
  );
}

function card(spec, operation) {
  return el(
    "section",
    { class: "card operation", id: operation.id, "aria-labelledby": `${operation.id}-title` },
    el("h3", { id: `${operation.id}-title` }, badge(operation.method), " ", breakable(operation.path)),
    ...prose(operation.description),
    ...parameters(spec, operation),
    ...request(spec, operation),
    responses(spec, operation),
    tryForm(spec, operation, () => $("key").value.trim()),
  );
}

function show(spec) {
  const title = `${spec.info.title}: API`;
  setText("title", title);
  setText("version", spec.info.version);
  document.title = title;
  const byTag = Object.groupBy
    ? Object.groupBy(operationsOf(spec), tagOf)
    : operationsOf(spec).reduce((all, each) => ({ ...all, [tagOf(each)]: [...(all[tagOf(each)] ?? []), each] }), {});
  contents(byTag);
  $("operations").replaceChildren(
    ...Object.entries(byTag).flatMap(([tag, operations]) => [
      el("h2", { class: "tag" }, tag),
      ...operations.map((operation) => card(spec, operation)),
    ]),
  );
  $("state").hidden = true;
  // The address may name an operation, which did not exist when the browser looked for it.
  if (location.hash) document.getElementById(decodeURIComponent(location.hash.slice(1)))?.scrollIntoView();
}

const answer = await fetch("/openapi.json");
if (answer.ok) show(await answer.json());
else if (answer.status === 401) location.assign("/login");
else setText("state", `The OpenAPI document cannot be loaded (status ${answer.status}).`);
