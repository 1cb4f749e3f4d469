//! Embeddings, ranking, tokens, and what the server says about itself.

use serde_json::{Value, json};

use super::{client, serve};

#[test]
fn texts_are_embedded_as_numbers_or_base64() {
    let server = serve(|_| {});
    let answer = server.post("/v1/embeddings", &json!({ "input": ["aaa", "zz"] })).json();
    assert_eq!(answer["data"][0]["embedding"][0], 1.0);
    assert_eq!(answer["data"][1]["embedding"][25], 1.0);
    assert_eq!((&answer["data"][1]["index"], &answer["usage"]["total_tokens"]), (&json!(1), &json!(5)));
    let answer = server.post("/v1/embeddings", &json!({ "input": "a", "encoding_format": "base64" })).json();
    assert!(answer["data"][0]["embedding"].as_str().unwrap().starts_with("AACAPwAA"));
    for body in [
        json!({ "input": [] }),
        json!({ "input": "" }),
        json!({ "input": "a", "dimensions": 7 }),
        json!({ "input": [[999_999]] }),
        json!({ "input": "x".repeat(5000) }),
    ] {
        assert_eq!(server.post("/v1/embeddings", &body).status, 400, "{body}");
    }
}

#[test]
fn documents_are_ranked_by_likeness() {
    let server = serve(|_| {});
    let body = json!({ "query": "abc", "documents": ["xyz", { "text": "abd" }, "abc"], "top_n": 2, "return_documents": true });
    let answer = server.post("/v1/rerank", &body).json();
    let results = answer["results"].as_array().unwrap();
    assert_eq!(results.len(), 2);
    assert_eq!((&results[0]["index"], &results[1]["index"]), (&json!(2), &json!(1)));
    assert_eq!(results[1]["document"]["text"], "abd");
    assert_eq!(server.post("/v1/rerank", &json!({ "query": "a", "documents": [] })).status, 400);
}

#[test]
fn tokens_are_made_and_joined() {
    let server = serve(|_| {});
    let answer = server.post("/tokenize", &json!({ "content": "a<|end|>", "with_pieces": true })).json();
    assert_eq!(answer["tokens"], json!([{ "id": 97, "piece": "a" }, { "id": 260, "piece": "" }]));
    let answer = server.post("/tokenize", &json!({ "content": "<|end|>", "parse_special": false })).json();
    assert_eq!(answer["tokens"].as_array().unwrap().len(), 7);
    let answer = server.post("/detokenize", &json!({ "tokens": [104, 105] })).json();
    assert_eq!(answer["content"], "hi");
    assert_eq!(server.post("/detokenize", &json!({ "tokens": [70000] })).status, 400);
}

#[test]
fn the_server_describes_itself() {
    let server = serve(|_| {});
    assert_eq!(server.get("/health").json()["status"], "ok");
    assert_eq!(server.get("/v1/models").json()["data"][0]["status"], "unloaded");
    server.post("/v1/chat/completions", &super::chat::asking("say hi")).text();
    let model = server.get("/v1/models").json()["data"][0].clone();
    assert_eq!(
        (&model["id"], &model["status"], &model["meta"]["context"]),
        (&json!("test"), &json!("loaded"), &json!(4096))
    );
    assert_eq!(server.metric("ferrocm_generated_tokens_total"), 1.0);
    assert_eq!(server.metric("ferrocm_answers_total{end=\"stop\"}"), 1.0);
    assert_eq!(server.metric("ferrocm_requests_total{path=\"/v1/chat/completions\",status=\"200\"}"), 1.0);
    assert_eq!(server.metric("ferrocm_model_loaded{model=\"test\"}"), 1.0);
    let document = server.get("/openapi.json").json();
    assert_eq!(document["openapi"], "3.1.0");
    for page in ["/", "/docs"] {
        let response = server.get(page);
        assert!(response.headers["content-security-policy"].starts_with("default-src 'none'"));
        let text = response.text();
        assert!(text.contains("<!doctype html>") && !text.contains("https://") && !text.contains("src="));
    }
}

/// All paths of the document exist and take only its methods.
#[test]
fn the_document_and_the_router_agree() {
    let server = serve(|_| {});
    let document = server.get("/openapi.json").json();
    for (path, methods) in document["paths"].as_object().unwrap() {
        for method in ["GET", "POST", "PUT", "DELETE"] {
            let status = client::send(server.address, method, path, &[super::JSON], b"{}").status;
            let is_known = methods.get(method.to_ascii_lowercase()).is_some();
            assert_eq!(is_known, ![404, 405].contains(&status), "{method} {path}: {status}");
        }
    }
    let response = server.get("/v1/nothing");
    assert_eq!(
        (response.status, response.json()["error"]["type"].clone()),
        (404, Value::from("invalid_request_error"))
    );
}
