// A loopback proxy that adds the bearer token: the conformance suite has no
// option for headers. Everything else, Host and Origin too, passes as it came.
//
//   node proxy.mjs UPSTREAM_PORT TOKEN      prints its own port
import http from 'node:http';

const [port, token] = process.argv.slice(2);

http
  .createServer((request, response) => {
    const headers = { ...request.headers, authorization: `Bearer ${token}` };
    const { method, url: path } = request;
    const upstream = http.request({ host: '127.0.0.1', port, method, path, headers }, (answer) => {
      response.writeHead(answer.statusCode, answer.rawHeaders);
      answer.pipe(response);
    });
    upstream.on('error', () => response.destroy());
    request.pipe(upstream);
  })
  .listen(0, '127.0.0.1', function () {
    console.log(this.address().port);
  });
