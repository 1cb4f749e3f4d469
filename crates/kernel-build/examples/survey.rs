//! Prints where the parts of the device toolchain are and what is missing.

fn main() {
    for finding in kernel_build::toolchain::survey() {
        let path = finding.path.map_or("-".into(), |path| path.display().to_string());
        println!("{:18} {path}  {}", finding.name, finding.version.unwrap_or_default());
        if let (Some(problem), Some(remedy)) = (finding.problem, finding.remedy) {
            println!("{:18} {problem}\n{:18} → {remedy}", "", "");
        }
    }
}
