import { type App, app } from "portolan/server/apps";

/** A page that a host shows with found flights. A click asks the model, in the user's name, to book one. */
export const flightBoard: App = app("ui://travel/flights", {
  title: "Flights",
  description: "The flights that were found; a click asks to book one",
  border: true,
  html: `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <title>Flights</title>
    <style>
      body { margin: 0; padding: 14px; font: 14px/1.4 system-ui, sans-serif; color: light-dark(#1b1f24, #e6e8eb); }
      h1 { font-size: 16px; margin: 0 0 10px; }
      ol { list-style: none; margin: 0; padding: 0; display: grid; gap: 6px; }
      li { display: grid; grid-template-columns: 4.2em 1fr auto auto; gap: 12px; align-items: center; padding: 8px 10px; border: 1px solid light-dark(#d7dbe0, #3a4048); border-radius: 8px; }
      .departs { font-variant-numeric: tabular-nums; font-weight: 600; }
      .more { color: light-dark(#5a626c, #a3abb5); }
      .price { font-variant-numeric: tabular-nums; font-weight: 600; text-align: end; }
      button { font: inherit; padding: 4px 12px; border: 0; border-radius: 6px; background: #1f6feb; color: #fff; cursor: pointer; }
      button:disabled { background: #8a929c; cursor: default; }
      [role="status"] { margin: 10px 0 0; }
    </style>
  </head>
  <body>
    <h1>Flights</h1>
    <ol></ol>
    <p role="status"></p>
    <script>
      const waiting = new Map();
      const post = (message) => parent.postMessage({ jsonrpc: "2.0", ...message }, "*");
      const notify = (method, params) => post({ method: "ui/notifications/" + method, params });
      const request = (method, params) =>
        new Promise((resolve, reject) => {
          const id = waiting.size + 1;
          waiting.set(id, { resolve, reject });
          post({ id, method, params });
        });
      const make = (name, className, text) => Object.assign(document.createElement(name), { className, textContent: text });
      const status = document.querySelector("[role=status]");

      const draw = ({ flights, total }) => {
        const [first] = flights;
        document.querySelector("h1").textContent = first.from + " to " + first.to + ", " + first.date;
        document.querySelector("ol").replaceChildren(...flights.map(row));
        status.textContent = total > flights.length ? "and " + (total - flights.length) + " more" : "";
      };
      const row = (flight) => {
        const { id, airline, departs, minutes, stops, price } = flight;
        const length = Math.floor(minutes / 60) + " h " + String(minutes % 60).padStart(2, "0") + " min";
        const way = stops === 0 ? "direct" : stops === 1 ? "1 stop" : stops + " stops";
        const about = document.createElement("span");
        about.append(airline + " " + id, make("div", "more", length + ", " + way));
        const choose = make("button", "", "Choose");
        choose.setAttribute("aria-label", "Choose flight " + id);
        choose.onclick = () => ask(flight);
        const item = document.createElement("li");
        item.append(make("span", "departs", departs), about, make("span", "price", "$" + price), choose);
        return item;
      };
      const ask = async ({ id, date }) => {
        const text = "Book flight " + id + " on " + date + ".";
        try {
          const { isError } = await request("ui/message", { role: "user", content: [{ type: "text", text }] });
          status.textContent = isError ? "The message was not sent." : "You have asked for flight " + id + ".";
        } catch {
          status.textContent = "The message was not sent.";
        }
      };

      addEventListener("message", ({ source, data }) => {
        if (source !== parent) return;
        const { id, method, params, result, error } = data;
        if (method === undefined) error ? waiting.get(id)?.reject(error) : waiting.get(id)?.resolve(result);
        else if (id !== undefined) post({ id, result: {} });
        else if (method === "ui/notifications/tool-result" && params.structuredContent) draw(params.structuredContent);
        else if (method === "ui/notifications/host-context-changed") colour(params);
      });
      const colour = ({ theme }) => (document.documentElement.style.colorScheme = theme ?? "");
      (async () => {
        const { hostContext } = await request("ui/initialize", {
          protocolVersion: "2026-01-26",
          appInfo: { name: "portolan-travel", version: "0.1.0" },
          appCapabilities: { availableDisplayModes: ["inline"] },
        });
        colour(hostContext);
        notify("initialized", {});
        new ResizeObserver(() => notify("size-changed", { height: document.documentElement.offsetHeight })).observe(document.body);
      })();
    </script>
  </body>
</html>
`,
});
