// Plotly writes its rules into <style> elements, which the content security policy forbids. The same rules are
// allowed as sheets of the document, so that is what becomes of every <style> that is put into the head.
"use strict";
{
  const append = document.head.appendChild.bind(document.head);
  document.head.appendChild = (node) => {
    if (!(node instanceof HTMLStyleElement)) return append(node);
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(node.textContent);
    document.adoptedStyleSheets.push(sheet);
    // Stands in its place, where it is looked for by its id when there are more rules to add.
    const place = document.createElement("meta");
    place.id = node.id;
    for (const each of [node, place]) Object.defineProperty(each, "sheet", { value: sheet });
    append(place);
    return node;
  };
}
