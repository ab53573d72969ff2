//! An embeddings endpoint on this machine, whose answers a test decides.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex};

use serde_json::{Value, json};

/// What the endpoint does with a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mood {
    /// Answers vectors of this width: each word adds to one place, and `automobile` is `car`.
    Answers(usize),
    /// Answers a status.
    Refuses(u16),
    /// Refuses a text that holds `poison`, and takes all others.
    RefusesPoison(usize),
    /// Answers so many texts more, then keeps who asks waiting.
    Stops(usize, usize),
}

/// The endpoint. It ends with the test's process.
pub struct Endpoint {
    pub url: String,
    state: Arc<State>,
}

struct State {
    now: Mutex<Now>,
    /// Told when the mood has changed.
    changed: Condvar,
    /// Told when somebody begins to wait.
    asked: Condvar,
}

struct Now {
    mood: Mood,
    /// The model of each text that was answered.
    answered: Vec<String>,
    /// How many wait for an answer.
    waiting: usize,
}

impl Endpoint {
    pub fn start(mood: Mood) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/v1/embeddings", listener.local_addr().unwrap());
        let state = Arc::new(State {
            now: Mutex::new(Now {
                mood,
                answered: Vec::new(),
                waiting: 0,
            }),
            changed: Condvar::new(),
            asked: Condvar::new(),
        });
        let served = Arc::clone(&state);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let state = Arc::clone(&served);
                // Who is cut off in the middle is no concern of the endpoint.
                std::thread::spawn(move || serve(&state, stream).ok());
            }
        });
        Self { url, state }
    }

    pub fn set(&self, mood: Mood) {
        self.state.now.lock().unwrap().mood = mood;
        self.state.changed.notify_all();
    }

    /// How many texts of the model were answered.
    pub fn answered(&self, model: &str) -> usize {
        let now = self.state.now.lock().unwrap();
        now.answered.iter().filter(|known| *known == model).count()
    }

    /// Returns when somebody waits for an answer.
    pub fn wait_until_asked_in_vain(&self) {
        let now = self.state.now.lock().unwrap();
        let waited = self.state.asked.wait_while(now, |now| now.waiting == 0);
        drop(waited.unwrap());
    }
}

fn serve(state: &State, stream: TcpStream) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let lower = line.to_ascii_lowercase();
        if let Some(value) = lower.strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        if line.trim().is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    let asked: Value = serde_json::from_slice(&body)?;
    let texts: Vec<&str> = asked["input"]
        .as_array()
        .unwrap()
        .iter()
        .map(|text| text.as_str().unwrap())
        .collect();
    let model = asked["model"].as_str().unwrap();
    let (status, width) = decide(state, &texts);
    let rows: Vec<Value> = (0..)
        .zip(&texts)
        .map(|(index, text)| json!({ "index": index, "embedding": vector(model, text, width) }))
        .collect();
    let body = json!({ "data": rows }).to_string();
    if status == 200 {
        let mut now = state.now.lock().unwrap();
        now.answered.extend(texts.iter().map(|_| model.to_owned()));
    }
    let head = format!(
        "HTTP/1.1 {status} Said\r\nConnection: close\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    let mut stream = stream;
    stream.write_all(head.as_bytes())?;
    stream.write_all(body.as_bytes())
}

/// The status and the width; waits while the mood is to.
fn decide(state: &State, texts: &[&str]) -> (u16, usize) {
    let mut now = state.now.lock().unwrap();
    loop {
        match now.mood {
            Mood::Answers(width) => return (200, width),
            Mood::Refuses(status) => return (status, 0),
            Mood::RefusesPoison(width) => {
                let is_poison = texts.iter().any(|text| text.contains("poison"));
                return (if is_poison { 400 } else { 200 }, width);
            }
            Mood::Stops(left, width) if texts.len() <= left => {
                now.mood = Mood::Stops(left - texts.len(), width);
                return (200, width);
            }
            Mood::Stops(..) => {
                now.waiting += 1;
                state.asked.notify_all();
                now = state.changed.wait(now).unwrap();
                now.waiting -= 1;
            }
        }
    }
}

fn vector(model: &str, text: &str, width: usize) -> Vec<f32> {
    let mut vector = vec![0.0; width];
    for word in text
        .split(|letter: char| !letter.is_alphanumeric())
        .filter(|word| !word.is_empty())
    {
        let word = word.to_lowercase().replace("automobile", "car");
        let hash = model.bytes().chain(word.bytes()).fold(7_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        if 0 < width {
            vector[(hash >> 16) as usize % width] += 1.0;
        }
    }
    vector
}
