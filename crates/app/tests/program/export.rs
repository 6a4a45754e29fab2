//! `tengen export`: the file itself is checked by `cargo xtask interop`, here the command around it.

use super::Bench;

#[test]
fn an_agents_network_is_written_once_and_never_over_a_file() {
    let bench = Bench::new();
    let said = bench.run("export shipped --onnx agent.onnx");
    assert!(said.code == Some(0) && said.err.starts_with("agent.onnx is written: "), "{said:?}");
    let bytes = bench.read("agent.onnx");
    let holds = |part: &[u8]| bytes.windows(part.len()).any(|window| window == part);
    assert!(holds(b"tengen") && holds(b"Gemm") && holds(b"layers.0.weight") && holds(b"policy"));
    bench.write("agent.onnx", "mine");
    assert!(bench.refused("export shipped --onnx agent.onnx").contains("agent.onnx exists already"));
    assert_eq!(bench.text("agent.onnx"), "mine");
}

#[test]
fn what_has_no_network_is_refused() {
    let bench = Bench::new();
    assert!(bench.refused("export random --onnx x.onnx").contains("random has no network"));
    assert!(bench.refused("export nobody --onnx x.onnx").contains("there is no player"));
    assert!(!bench.path("x.onnx").exists());
}
