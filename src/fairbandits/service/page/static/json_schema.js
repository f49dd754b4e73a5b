// JSON schemas as tables of fields, and as examples.

const MAX_DEPTH = 4;

export function resolve(spec, schema) {
  const name = schema.$ref?.split("/").at(-1);
  return name ? spec.components.schemas[name] : schema;
}

// The possible schemas of a value, without null.
function forms(spec, schema) {
  const found = resolve(spec, schema);
  const several = found.anyOf ?? found.oneOf;
  if (!several) return [found];
  return several.flatMap((each) => forms(spec, each)).filter((each) => each.type !== "null");
}

const isNullable = (schema) => (schema.anyOf ?? []).some((each) => each.type === "null" || isNullable(each));

function typeOf(spec, schema) {
  const names = forms(spec, schema).map((each) => {
    if (each.enum) return each.enum.map((value) => JSON.stringify(value)).join(", ");
    if ("const" in each) return JSON.stringify(each.const);
    if (each.type === "array") return `list of ${typeOf(spec, each.items ?? {})}`;
    return each.type ?? "any";
  });
  return `${[...new Set(names)].join(" or ")}${isNullable(schema) ? ", or null" : ""}`;
}

function describe(spec, schema) {
  const all = [schema, ...(schema.anyOf ?? []), ...forms(spec, schema)];
  const limits = forms(spec, schema).flatMap((each) => [
    "minimum" in each ? `at least ${each.minimum}` : null,
    "maximum" in each ? `at most ${each.maximum}` : null,
    each.maxLength ? `at most ${each.maxLength} characters` : null,
    each.maxItems ? `at most ${each.maxItems.toLocaleString("en")} items` : null,
  ]);
  const text = all.find((each) => each.description)?.description ?? "";
  const said = [...new Set(limits.filter(Boolean))].join(", ");
  const ruled = said ? `${said[0].toUpperCase()}${said.slice(1)}.` : "";
  const usual = "default" in schema && schema.default !== "" ? `Default: ${JSON.stringify(schema.default)}.` : "";
  return [text, ruled, usual].filter(Boolean).join(" ");
}

// The fields of an object, those of objects in it with a dotted name.
export function fieldsOf(spec, schema, prefix = "", depth = 0) {
  const found = resolve(spec, schema);
  return Object.entries(found.properties ?? {}).flatMap(([key, value]) => {
    const name = `${prefix}${key}`;
    const field = {
      name,
      type: typeOf(spec, value),
      required: (found.required ?? []).includes(key),
      description: describe(spec, value),
    };
    if (depth >= MAX_DEPTH) return [field];
    const inner = forms(spec, value).flatMap((each) => {
      const item = each.type === "array" ? forms(spec, each.items ?? {})[0] : each;
      return item?.properties ? [[item, each.type === "array" ? `${name}[].` : `${name}.`]] : [];
    });
    return [field, ...(inner.length ? fieldsOf(spec, inner[0][0], inner[0][1], depth + 1) : [])];
  });
}

// A value that fits a schema.
export function exampleOf(spec, schema, depth = 0) {
  const [found] = forms(spec, schema);
  if (!found) return null;
  if (found.examples) return found.examples[0];
  if (found.enum) return found.enum[0];
  if ("const" in found) return found.const;
  if (found.properties && depth <= MAX_DEPTH)
    return Object.fromEntries(
      Object.entries(found.properties).map(([key, value]) => [key, exampleOf(spec, value, depth + 1)]),
    );
  if (found.type === "array") return found.items && depth < MAX_DEPTH ? [exampleOf(spec, found.items, depth + 1)] : [];
  return { string: "text", number: 0.5, integer: 1, boolean: true, object: {} }[found.type] ?? null;
}
