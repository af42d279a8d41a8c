import { budgets, verdict } from "./budgets.mjs";
import { names } from "./implementations.mjs";

/** Formats the table: a line per metric, a column per implementation, and the budget. */
export function table(rows) {
  const head = ["", ...names, "budget", ""];
  const body = rows.map((row) => {
    const budget = budgets.find((it) => it.metric === row.metric);
    const verdictText = budget ? verdictTextOf(budget, row) : "";
    return [row.metric, ...names.map((name) => cellText(row, name)), budget?.text ?? "", verdictText];
  });
  const widths = head.map((_, column) => Math.max(...[head, ...body].map((line) => line[column].length)));
  const print = (line) =>
    line.map((text, i) => (i === 0 || i > names.length ? text.padEnd(widths[i]) : text.padStart(widths[i]))).join("  ");
  return [print(head), widths.map((width) => "─".repeat(width)).join("  "), ...body.map(print)].join("\n");
}

function verdictTextOf(budget, row) {
  if (row.notMeasured !== undefined) return "not measured";
  return verdict(budget, row) + (budget.isReported ? " (reported)" : "");
}

function cellText(row, name) {
  const cell = row.cells[name];
  if (cell === undefined || Number.isNaN(cell.value)) return "–";
  if (name === "raw" || row.shown === "value") return withUnit(cell.value, row.unit);
  if (row.shown === "cost" || row.shown === "rate") return withUnit(cell.ratio, "×");
  if (row.shown === "speed") return withUnit(cell.speed, "×");
  return `${cell.difference < 0 ? "−" : "+"}${withUnit(Math.abs(cell.difference), row.unit)}`;
}

function withUnit(number, unit) {
  const digits = Number.isInteger(number) || number >= 100 ? 0 : number >= 10 ? 1 : 2;
  const text = number.toFixed(digits).replace(/\B(?=(\d{3})+$)/g, ",");
  return unit === "×" ? `${text}×` : unit === "" ? text : `${text} ${unit}`;
}

export const legend = [
  "raw is hand-written node, shown in its own unit; each ratio is the median over repetitions of one against raw in the same repetition.",
  "CPU is process.cpuUsage: of the one process in W1, of the server in W2 to W4b, W7, W8, of the client in W2 client and W9, of both in",
  "W7 end to end and W7 HTTP. W1 to W4 and W9 are per call. W2, W3, W4, W9 show speed (raw ÷ implementation, more is better), calls/s its",
  "ratio (more is better), W2b, W7, W8 cost (implementation ÷ raw, less is better), W5 what the server's memory grew by, W6 the difference",
  "in wall time. In W10 raw is portolan's own client without a host.",
].join("\n");
