/** The names of the variables of a URI template, in order and once each. */
export function variablesOf(template: string): readonly string[] {
  const names = [...template.matchAll(/\{([+#./;?&]?)([^{}]*)\}/g)].flatMap(([, , list = ""]) =>
    list.split(",").map((name) => name.replace(/[*]|:\d+$/g, "").trim()),
  );
  return [...new Set(names.filter(Boolean))];
}

/** Puts values into a URI template (RFC 6570, for text values). */
export function expandTemplate(template: string, values: { readonly [name: string]: string }): string {
  return template.replace(/\{([+#./;?&]?)([^{}]*)\}/g, (_, operator: string, list: string) => {
    const keepsReserved = operator === "+" || operator === "#";
    const isNamed = operator === ";" || operator === "?" || operator === "&";
    const first = { "+": "", "": "" }[operator] ?? operator;
    const separator = { "+": ",", "#": ",", "": ",", "?": "&" }[operator] ?? operator;
    const parts = list.split(",").flatMap((spec) => {
      const name = spec.replace(/[*]|:\d+$/g, "").trim();
      const length = Number(/:(\d+)$/.exec(spec)?.[1] ?? Number.POSITIVE_INFINITY);
      const value = values[name];
      if (value === undefined || value === "") return [];
      const cut = [...value]
        .slice(0, length)
        .join("")
        .replace(/\p{Cs}/gu, "\ufffd");
      const encoded = keepsReserved ? encodeURI(cut) : encodeURIComponent(cut).replace(/[!'()*]/g, percent);
      return [isNamed ? `${name}=${encoded}` : encoded];
    });
    return parts.length === 0 ? "" : first + parts.join(separator);
  });
}

function percent(sign: string): string {
  return `%${sign.charCodeAt(0).toString(16).toUpperCase()}`;
}
