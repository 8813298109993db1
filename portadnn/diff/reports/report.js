(function () {
  var data = JSON.parse(document.getElementById("data").textContent);
  var words = document.getElementById("words");
  var box = document.getElementById("cases");
  var list = document.getElementById("list");
  var kinds = document.getElementById("kinds");
  var more = document.getElementById("more");
  var page = 100;
  var cell = null;
  var hits = [];
  var shown = 0;
  var hidden = {};

  function wanted() { return words.value.toLowerCase().split(" ").filter(Boolean); }
  function fits(text, all) { return all.every(function (word) { return text.includes(word); }); }

  function open(id) {
    var card = document.getElementById("f" + id);
    card.hidden = false;
    card.open = true;
    card.scrollIntoView();
  }

  function item(hit) {
    var row = document.createElement("li");
    var mark = document.createElement("span");
    mark.className = "verdict " + hit.verdict;
    mark.textContent = hit.verdict;
    var code = document.createElement("code");
    code.textContent = hit.line;
    row.append(mark);
    if (hit.card !== "") {
      var link = document.createElement("a");
      link.href = "#f" + hit.card;
      link.textContent = "details";
      link.addEventListener("click", function () { open(hit.card); });
      row.append(link);
    }
    row.append(code);
    return row;
  }

  function grow() {
    hits.slice(shown, shown + page).forEach(function (hit) { list.append(item(hit)); });
    shown = Math.min(hits.length, shown + page);
    more.hidden = shown === hits.length;
    more.textContent = "more (" + (hits.length - shown).toLocaleString("en") + ")";
  }

  function choice(verdict, number) {
    var label = document.createElement("label");
    var input = document.createElement("input");
    input.type = "checkbox";
    input.checked = !hidden[verdict];
    input.addEventListener("change", function () { hidden[verdict] = !input.checked; show(); });
    label.append(input, " " + verdict.toLowerCase() + " (" + number.toLocaleString("en") + ")");
    return label;
  }

  function show() {
    if (cell === null) { return; }
    var op = cell.dataset.op;
    var target = Number(cell.dataset.target);
    var all = wanted();
    var numbers = {};
    hits = [];
    (data.cases[op] || []).forEach(function (text) {
      var parts = text.split("\t");
      var verdict = data.codes[parts[0][target]];
      var line = parts[1] === "" ? op : op + " " + parts[1];
      if (verdict === undefined ? true : !fits(line.toLowerCase(), all)) { return; }
      numbers[verdict] = (numbers[verdict] || 0) + 1;
      if (!hidden[verdict]) { hits.push({ verdict: verdict, line: line, card: parts[2] }); }
    });
    var rest = data.left_out ? " (of " + data.left_out.toLocaleString("en") + " cases the page has no lines)" : "";
    document.getElementById("which").textContent = op + " on " + data.targets[target] + rest;
    kinds.replaceChildren();
    Object.keys(numbers).forEach(function (verdict) { kinds.append(choice(verdict, numbers[verdict])); });
    list.replaceChildren();
    shown = 0;
    grow();
    box.hidden = false;
  }

  function choose(event) {
    var same = cell === event.currentTarget;
    if (cell !== null) { cell.removeAttribute("aria-expanded"); }
    cell = same ? null : event.currentTarget;
    box.hidden = same;
    if (same) { return; }
    cell.setAttribute("aria-expanded", "true");
    show();
    box.scrollIntoView({ block: "nearest" });
    document.getElementById("which").focus({ preventScroll: true });
  }

  function narrow() {
    var all = wanted();
    var found = 0;
    var cards = document.querySelectorAll(".failure");
    cards.forEach(function (card) {
      card.hidden = !fits(card.querySelector("summary").textContent.toLowerCase(), all);
      found += card.hidden ? 0 : 1;
    });
    document.querySelectorAll(".group").forEach(function (group) {
      group.hidden = group.querySelector(".failure:not([hidden])") === null;
    });
    document.getElementById("found").textContent = all.length ? found + " of " + cards.length + " failures shown" : "";
    show();
  }

  function copy(event) {
    var button = event.currentTarget;
    var text = button.nextElementSibling;
    function done() { button.textContent = "copied"; setTimeout(function () { button.textContent = "copy"; }, 1500); }
    function select() { getSelection().selectAllChildren(text); if (document.execCommand("copy")) { done(); } }
    if (navigator.clipboard) { navigator.clipboard.writeText(text.textContent).then(done, select); } else { select(); }
  }

  document.querySelectorAll(".cell button").forEach(function (button) { button.addEventListener("click", choose); });
  document.querySelectorAll(".copy").forEach(function (button) { button.addEventListener("click", copy); });
  more.addEventListener("click", grow);
  words.addEventListener("input", narrow);
  if (location.hash.startsWith("#f") ? /^#f\d+$/.test(location.hash) : false) { open(location.hash.slice(2)); }
})();
