// Before the first paint: the theme that was chosen here the last time.
try {
  const theme = localStorage.getItem('revtail.theme')
  if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme
} catch { /* without storage, the system's theme it is */ }
