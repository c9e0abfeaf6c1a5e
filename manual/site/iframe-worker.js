// The search runs in a worker, which browsers refuse to pages opened as files. There a hidden frame takes its place.
if (location.protocol === 'file:') {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement('iframe');
      frame.hidden = true;
      document.body.appendChild(frame);
      const inside = frame.contentWindow;
      inside.document.open();
      inside.document.write('<!doctype html><title>search</title>');
      inside.document.close();
      inside.postMessage = (data) => setTimeout(() => this.dispatchEvent(new MessageEvent('message', {data})));
      const script = inside.document.createElement('script');
      script.src = new URL(url, location.href).href;
      const loaded = new Promise((resolve) => { script.onload = resolve; });
      this.postMessage = (data) => loaded.then(() => inside.dispatchEvent(new MessageEvent('message', {data})));
      this.terminate = () => frame.remove();
      inside.document.head.appendChild(script);
    }
  };
}
