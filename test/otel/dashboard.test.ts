import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { attribute, metric } from "../../packages/portolan/src/otel/names.ts";

/** Names as a collector writes them for Prometheus. */
const toPrometheus = (name: string) => name.replaceAll(".", "_");

test("the dashboard of examples/deploy asks for metrics and attributes that exist", () => {
  const file = join(import.meta.dirname, "../../examples/deploy/grafana-dashboard.json");
  const { panels } = JSON.parse(readFileSync(file, "utf8")) as {
    panels: { targets: { expr: string; legendFormat: string }[] }[];
  };
  const metrics = Object.values(metric).map(toPrometheus);
  const attributes = [...Object.values(attribute).map(toPrometheus), "instance", "le"];
  const used = new Set<string>();
  for (const { expr, legendFormat } of panels.flatMap(({ targets }) => targets)) {
    const [name = ""] = /(?:mcp|portolan)_\w+(?=[[{]|$)/.exec(expr) ?? [];
    used.add(name.replace(/_(seconds_(bucket|count)|total)$/, ""));
    const grouped = [...expr.matchAll(/by \(([^)]*)\)/g)].flatMap(([, names = ""]) => names.split(", "));
    const shown = [...legendFormat.matchAll(/\{\{(\w+)\}\}/g)].map(([, label = ""]) => label);
    expect(attributes).toEqual(expect.arrayContaining([...grouped, ...shown]));
  }
  expect(metrics).toEqual(expect.arrayContaining([...used]));
  expect(used.size).toBe(metrics.length - 2); // all but the durations at the client
});
