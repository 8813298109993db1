(function () {
  var severities = document.querySelectorAll("input[name=severity]");
  var rule = document.getElementById("rule");
  var words = document.getElementById("words");
  var rewrites = document.getElementById("rewrites");
  var calls = document.getElementById("calls");

  function apply() {
    var wanted = {};
    severities.forEach(function (box) { wanted[box.value] = box.checked; });
    var text = words.value.toLowerCase();
    document.querySelectorAll(".file").forEach(function (file) {
      var some = false;
      file.querySelectorAll(".call").forEach(function (call) {
        var shown = 0;
        var fits = text === "" ? true : call.textContent.toLowerCase().includes(text);
        call.querySelectorAll(".finding").forEach(function (finding) {
          var data = finding.dataset;
          var ok = wanted[data.severity];
          if (data.rewrite === "1") { ok = rewrites.checked; }
          if (rule.value !== "") { ok = data.rule === rule.value; }
          finding.hidden = !ok;
          shown += ok ? 1 : 0;
        });
        var alone = calls.checked ? rule.value === "" : false;
        call.hidden = fits ? (shown ? false : !alone) : true;
        some = some || !call.hidden;
      });
      file.hidden = !some;
    });
  }

  document.getElementById("wrap").addEventListener("change", function () {
    document.body.classList.toggle("wrapped", this.checked);
  });
  severities.forEach(function (box) { box.addEventListener("change", apply); });
  [rule, rewrites, calls].forEach(function (control) { control.addEventListener("change", apply); });
  words.addEventListener("input", apply);
  apply();
})();
