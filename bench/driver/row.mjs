/**
 * One line of the table.
 * @typedef {object} Row
 * @property {string} metric
 * @property {string} unit of the raw value
 * @property {"value" | "cost" | "speed" | "rate" | "difference"} shown what the cells beside raw's show: the value itself,
 *   implementation ÷ raw where less is better, raw ÷ implementation, implementation ÷ raw where more is better, or
 *   implementation − raw
 * @property {string} [notMeasured] why this machine cannot measure it, which is no failure
 * @property {Record<string, { value: number, ratio?: number, speed?: number, difference?: number }>} cells
 */

/** @returns {Row} */
export function rowOf(metric, { unit, shown }, samples, base = "raw") {
  const cells = {};
  for (const name of samples.names()) {
    const ratio = samples.ratio(name, base);
    cells[name] = {
      value: samples.value(name),
      ratio,
      speed: 1 / ratio,
      difference: samples.difference(name, base),
    };
  }
  return { metric, unit, shown, cells };
}
