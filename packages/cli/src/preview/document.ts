/** The document of the preview page. Its script and its style are files of their own, which its policy asks for. */
export const previewDocument = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Apps - Portolan</title>
<link rel="stylesheet" href="style.css">
<link rel="icon" href="data:,">
<script src="page.js" defer></script>
</head>
<body>
<aside>
<h1>Apps</h1>
<nav id="tools" aria-label="Tools with an app"></nav>
<p id="description" class="dim"></p>
<label for="args">Arguments</label>
<textarea id="args" rows="6" spellcheck="false"></textarea>
<button id="show" class="main" type="button" disabled>Call and show</button>
<p id="problem" role="alert"></p>
</aside>
<main id="stage"></main>
<section id="messages">
<h2>Messages</h2>
<ol id="log"></ol>
</section>
</body>
</html>
`;

export const previewStyle = `
:root { --line: #d9dde3; --soft: #f5f6f8; --text: #1b1f24; --dim: #5d6774; --main: #1f5fbf; --bad: #b3261e; --back: #fff; }
@media (prefers-color-scheme: dark) {
  :root { --line: #353b45; --soft: #1d2127; --text: #e6e8eb; --dim: #98a2b0; --main: #78a9ff; --bad: #ff8a80; --back: #14171b; }
}
* { box-sizing: border-box; }
body { margin: 0; height: 100vh; display: grid; grid-template: minmax(0, 1fr) 200px / 300px minmax(0, 1fr); color: var(--text);
  background: var(--back); font: 14px/1.45 system-ui, sans-serif; }
aside { grid-row: 1 / 3; padding: 20px; border-right: 1px solid var(--line); background: var(--soft); overflow: auto;
  display: flex; flex-direction: column; gap: 10px; }
main { padding: 20px; overflow: auto; display: flex; flex-direction: column; gap: 16px; }
#messages { border-top: 1px solid var(--line); padding: 12px 20px; min-height: 0; display: flex; flex-direction: column; }
h1 { font-size: 18px; margin: 0; }
h2 { font-size: 14px; margin: 0; }
p { margin: 0; }
.dim { color: var(--dim); font-size: 12px; }
nav { display: flex; flex-direction: column; gap: 6px; }
button { font: inherit; padding: 7px 14px; border: 1px solid var(--line); border-radius: 7px; background: var(--back);
  color: var(--text); cursor: pointer; }
button:hover { border-color: var(--main); }
button:focus-visible, textarea:focus-visible { outline: 2px solid var(--main); outline-offset: 1px; }
button:disabled { opacity: .5; cursor: default; }
button.main { background: var(--main); border-color: var(--main); color: var(--back); font-weight: 600; }
button.quiet { margin-left: auto; padding: 3px 10px; font-size: 12px; }
button.tool { display: flex; flex-direction: column; gap: 1px; text-align: left; padding: 9px 12px; overflow-wrap: anywhere; }
button.tool.chosen { border-color: var(--main); box-shadow: inset 3px 0 0 var(--main); }
.name { font-weight: 600; }
label { font-size: 12px; font-weight: 600; margin-top: 6px; }
textarea { font: 12px/1.5 ui-monospace, monospace; width: 100%; padding: 8px; border: 1px solid var(--line);
  border-radius: 7px; background: var(--back); color: var(--text); resize: vertical; }
#problem { color: var(--bad); min-height: 1.4em; overflow-wrap: anywhere; }
.card { border: 1px solid var(--line); border-radius: 10px; overflow: hidden; flex: none; }
.question { padding: 16px; display: flex; flex-direction: column; gap: 10px; border-color: var(--main); max-width: 720px; }
.question ul { margin: 0; padding-left: 18px; }
.question pre { margin: 0; padding: 8px 10px; background: var(--soft); border-radius: 7px; font: 12px/1.5 ui-monospace, monospace;
  white-space: pre-wrap; overflow-wrap: anywhere; max-height: 200px; overflow: auto; }
.question ul:empty { display: none; }
.row { display: flex; align-items: center; gap: 10px; }
.app header { padding: 9px 14px; background: var(--soft); border-bottom: 1px solid var(--line); }
.badge { font-size: 11px; color: var(--dim); border: 1px solid var(--line); border-radius: 99px; padding: 1px 9px; }
.place { background: #fff; }
@media (prefers-color-scheme: dark) { .place { background: #14171b; } }
#log { margin: 8px 0 0; padding: 0; list-style: none; overflow: auto; flex: 1; font: 12px/1.6 ui-monospace, monospace; }
#log li { display: flex; gap: 10px; }
#log .from { flex: 0 0 44px; color: var(--dim); }
#log code { font: inherit; white-space: nowrap; overflow: hidden; text-overflow: ellipsis; }
#log .bad code { color: var(--bad); }
@media (max-width: 760px) {
  body { height: auto; display: block; }
  aside { border-right: 0; border-bottom: 1px solid var(--line); }
}
`;
