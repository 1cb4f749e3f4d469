//! A client over a plain socket, which can also misbehave.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::Value;

/// No test waits longer than this for bytes.
const PATIENCE: Duration = Duration::from_secs(20);

/// A response whose body may still be coming.
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) headers: BTreeMap<String, String>,
    stream: BufReader<TcpStream>,
    is_chunked: bool,
    left: usize,
}

/// A connection.
pub(crate) fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).expect("a connection");
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.set_write_timeout(Some(PATIENCE)).unwrap();
    stream
}

/// Sends a request, with more headers, and reads the response's head.
pub(crate) fn send(
    address: SocketAddr,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &[u8],
) -> Response {
    let mut stream = connect(address);
    let mut head =
        format!("{method} {path} HTTP/1.1\r\nHost: {address}\r\nContent-Length: {}\r\n", body.len());
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    stream.write_all(format!("{head}\r\n").as_bytes()).expect("the head is sent");
    // A server that refuses a body may close before all of it is sent.
    let _ = stream.write_all(body);
    read(stream).expect("a response")
}

/// Reads a response's head; nothing if the connection ends first.
pub(crate) fn read(stream: TcpStream) -> Option<Response> {
    let mut stream = BufReader::new(stream);
    let mut line = String::new();
    stream.read_line(&mut line).ok()?;
    let status = line.split(' ').nth(1)?.parse().ok()?;
    let mut headers = BTreeMap::new();
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).ok()?;
        match line.trim_end().split_once(": ") {
            Some((name, value)) => headers.insert(name.to_ascii_lowercase(), value.to_owned()),
            None => break,
        };
    }
    let is_chunked = headers.get("transfer-encoding").is_some_and(|value| value == "chunked");
    let left = headers.get("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
    Some(Response { status, headers, stream, is_chunked, left })
}

impl Response {
    /// The next piece of the body; nothing at its end or if the connection is cut.
    pub(crate) fn piece(&mut self) -> Option<Vec<u8>> {
        let length = if self.is_chunked {
            let mut line = String::new();
            self.stream.read_line(&mut line).ok()?;
            usize::from_str_radix(line.trim(), 16).ok()?
        } else {
            std::mem::take(&mut self.left)
        };
        if length == 0 {
            return None;
        }
        let mut piece = vec![0; length];
        self.stream.read_exact(&mut piece).ok()?;
        if self.is_chunked {
            let mut end = [0; 2];
            self.stream.read_exact(&mut end).ok()?;
        }
        Some(piece)
    }

    pub(crate) fn text(mut self) -> String {
        let mut all = Vec::new();
        while let Some(piece) = self.piece() {
            all.extend(piece);
        }
        String::from_utf8(all).expect("UTF-8")
    }

    pub(crate) fn json(self) -> Value {
        let text = self.text();
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
    }

    /// All events: their names and data.
    pub(crate) fn events(self) -> Vec<(String, Value)> {
        let text = self.text();
        let field = |event: &str, name: &str| {
            event.lines().find_map(|line| Some(line.strip_prefix(name)?.trim().to_owned()))
        };
        let event = |text: &str| {
            let data = field(text, "data:")?;
            let data =
                if data == "[DONE]" { Value::from(data) } else { serde_json::from_str(&data).expect("JSON") };
            Some((field(text, "event:").unwrap_or_default(), data))
        };
        text.split("\n\n").filter_map(event).collect()
    }
}
