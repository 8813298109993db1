(function () {
  var words = document.getElementById("words");
  var jump = document.getElementById("jump");
  var counted = document.getElementById("counted");

  function apply() {
    var wanted = words.value.toLowerCase().split(/\s+/).filter(Boolean);
    var shown = 0;
    document.querySelectorAll("section").forEach(function (section) {
      var some = false;
      var title = section.querySelector("h2").textContent.toLowerCase();
      section.querySelectorAll("tbody > tr").forEach(function (row) {
        var text = title + " " + row.textContent.toLowerCase();
        row.querySelectorAll("[title]").forEach(function (cell) { text += " " + cell.title.toLowerCase(); });
        row.hidden = !wanted.every(function (word) { return text.includes(word); });
        some = some || !row.hidden;
        shown += row.hidden ? 0 : 1;
      });
      section.querySelectorAll("table").forEach(function (table) {
        var hidden = wanted.length ? !table.querySelector("tbody > tr:not([hidden])") : false;
        table.hidden = hidden;
        var before = table.previousElementSibling;
        if (before ? before.tagName.toLowerCase() === "h3" : false) { before.hidden = hidden; }
      });
      section.hidden = wanted.length ? !some : false;
    });
    counted.textContent = shown + (shown === 1 ? " row" : " rows");
  }

  words.addEventListener("input", apply);
  jump.addEventListener("change", function () { location.hash = jump.value; });
  apply();
})();
