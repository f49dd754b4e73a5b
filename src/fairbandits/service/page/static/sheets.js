// Plotly writes its rules into <style> elements, which the content security policy forbids. Style sheets that
// scripts construct are allowed, so this turns every <style> that is added to the head into one.
"use strict";
{
  const append = document.head.appendChild.bind(document.head);
  document.head.appendChild = (node) => {
    if (!(node instanceof HTMLStyleElement)) return append(node);
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(node.textContent);
    document.adoptedStyleSheets.push(sheet);
    // Plotly looks the element up by its id to add more rules, so a placeholder takes its place.
    const placeholder = document.createElement("meta");
    placeholder.id = node.id;
    for (const each of [node, placeholder]) Object.defineProperty(each, "sheet", { value: sheet });
    append(placeholder);
    return node;
  };
}
