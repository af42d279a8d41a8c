import "./http.mjs";
