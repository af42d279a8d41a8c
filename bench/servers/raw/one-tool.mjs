import "./stdio.mjs";
