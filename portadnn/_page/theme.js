"use strict";
document.getElementById("theme").addEventListener("click", function () {
  var root = document.documentElement;
  var now = root.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
  root.dataset.theme = now === "dark" ? "light" : "dark";
});
