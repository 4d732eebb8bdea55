(function () {
  'use strict';
  var root = document.documentElement, key = 'tillerman-theme';
  function stored(value) {
    try { return value ? localStorage.setItem(key, value) : localStorage.getItem(key); } catch (e) { return null; }
  }
  var theme = stored();
  if (theme === 'light' || theme === 'dark') root.setAttribute('data-theme', theme);
  function isDark() {
    var set = root.getAttribute('data-theme');
    return set ? set === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches;
  }
  function openAll(open) {
    document.querySelectorAll('main details').forEach(function (it) { it.open = open; });
  }
  function copy(code, button) {
    function done() {
      button.textContent = 'copied';
      setTimeout(function () { button.textContent = 'copy'; }, 1200);
    }
    function byHand() {
      var range = document.createRange(), selection = getSelection();
      range.selectNodeContents(code);
      selection.removeAllRanges();
      selection.addRange(range);
      if (document.execCommand('copy')) done();
    }
    if (navigator.clipboard) navigator.clipboard.writeText(code.textContent).then(done, byHand);
    else byHand();
  }
  function addCopy(pre) {
    var box = document.createElement('div'), button = document.createElement('button');
    box.className = 'box';
    button.className = 'copy';
    button.type = 'button';
    button.textContent = 'copy';
    button.addEventListener('click', function () { copy(pre.querySelector('code'), button); });
    pre.parentNode.insertBefore(box, pre);
    box.appendChild(pre);
    box.appendChild(button);
  }
  document.addEventListener('DOMContentLoaded', function () {
    var bar = document.getElementById('bar');
    bar.hidden = false;
    bar.addEventListener('click', function (event) {
      var act = event.target.getAttribute('data-act');
      if (act === 'open') openAll(true);
      if (act === 'close') openAll(false);
      if (act === 'theme') {
        var next = isDark() ? 'light' : 'dark';
        root.setAttribute('data-theme', next);
        stored(next);
      }
    });
    document.querySelectorAll('pre').forEach(addCopy);
  });
})();
