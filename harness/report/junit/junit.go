// Package junit is the JUnit form of results, as Jenkins, GitLab and GitHub read it.
package junit

import "encoding/xml"

// Suite is one testsuite. Write counts its cases.
type Suite struct {
	Name       string     `xml:"name,attr"`
	Timestamp  string     `xml:"timestamp,attr,omitempty"` // RFC 3339
	Seconds    string     `xml:"time,attr,omitempty"`
	Tests      int        `xml:"tests,attr"`
	Failures   int        `xml:"failures,attr"`
	Errors     int        `xml:"errors,attr"`
	Skipped    int        `xml:"skipped,attr"`
	Properties []Property `xml:"properties>property"`
	Cases      []Case     `xml:"testcase"`
}

// Property is a named value of a suite.
type Property struct {
	Name  string `xml:"name,attr"`
	Value string `xml:"value,attr"`
}

// Case is one testcase; without a reason it passed.
type Case struct {
	Class   string  `xml:"classname,attr"`
	Name    string  `xml:"name,attr"`
	Seconds string  `xml:"time,attr,omitempty"`
	Failure *Reason `xml:"failure"`
	Error   *Reason `xml:"error"`
	Skipped *Reason `xml:"skipped"`
	Out     string  `xml:"system-out,omitempty"`
}

// Reason says why a case did not pass.
type Reason struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

// Document is a whole file.
type Document struct {
	XMLName xml.Name `xml:"testsuites"`
	Suites  []Suite  `xml:"testsuite"`
}

// Write makes the file of some suites.
func Write(suites ...Suite) ([]byte, error) {
	for i := range suites {
		suites[i].count()
	}
	data, err := xml.MarshalIndent(Document{Suites: suites}, "", "  ")
	return append([]byte(xml.Header), append(data, '\n')...), err
}

func (s *Suite) count() {
	s.Tests, s.Failures, s.Errors, s.Skipped = len(s.Cases), 0, 0, 0
	for _, c := range s.Cases {
		switch {
		case c.Failure != nil:
			s.Failures++
		case c.Error != nil:
			s.Errors++
		case c.Skipped != nil:
			s.Skipped++
		}
	}
}
